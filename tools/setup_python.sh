#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv/python (git-ignored) with what the Python layer is built and tested with: apache-tvm-ffi,
# numpy, pytest, and PyTorch from PyPI on the machine's CUDA toolkit instead of NVIDIA's wheels, which
# would be 4 GB more. About 900 MB of download; does nothing when it is there.
#   tools/setup_python.sh [FOLDER]      default .venv/python
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv/python}
packages=(apache-tvm-ffi==0.1.15.post2 numpy packaging pytest scikit-build-core
          filelock typing_extensions sympy mpmath networkx jinja2 MarkupSafe fsspec setuptools
          nvidia-cusparselt-cu13 nvidia-nvshmem-cu13 nvidia-cufile nvidia-nvtx)
stamp=$venv/.kernelwright
wanted="torch==2.11.0 ${packages[*]}"
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0
SECONDS=0
python3 -m venv "$venv" || {
  echo "setup: python3 cannot make a virtual environment; apt-get install python3-venv" >&2
  exit 4
}
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps torch==2.11.0
"$venv/bin/python" -c 'import torch, tvm_ffi; print("setup: torch", torch.__version__)'
printf '%s' "$wanted" >"$stamp"
echo "setup: $venv in $SECONDS s"
