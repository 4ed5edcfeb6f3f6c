#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A fresh venv on a GPU machine, without a registry: kernelwright and what it asks for from the wheels in
# .whl/, Liger beside it, PyTorch and pytest from the machine's own Python. .whl/ holds kernelwright
# (tools/wheel.sh), apache_tvm_ffi for that Python's version, packaging and liger_kernel.
#   tools/gpu/venv.sh FOLDER      then FOLDER/bin/python and FOLDER/bin/kw
set -euo pipefail
venv=${1:?FOLDER}
wheels=$(cd "$(dirname "$0")/../.." && pwd)/.whl
ls "$wheels"/kernelwright-*.whl >/dev/null || {
  echo "venv: no wheel of kernelwright in $wheels; tools/wheel.sh builds build/dist/kernelwright-*.whl" >&2
  exit 4
}
site() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
install() { # with the machine's pip: the venv needs none
  python3 -m pip --python "$venv/bin/python" install --quiet --disable-pip-version-check --no-cache-dir \
    --no-compile --no-index --find-links "$wheels" "$@"
}
python3 -m venv --without-pip "$venv"
site python3 >"$(site "$venv/bin/python")/machine.pth"
install kernelwright
install --no-deps liger_kernel # it asks for the PyTorch and Triton that are there, by other names perhaps
