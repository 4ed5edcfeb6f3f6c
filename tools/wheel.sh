#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a newcomer does, and more: builds the wheel, installs it into a fresh venv outside the checkout,
# runs examples/newcomer.py and `kw` there, first with numpy alone, then beside PyTorch, and at last
# tests/python against the installed package. Registries are asked for apache-tvm-ffi, numpy, packaging
# and pytest, PyTorch is that of .venv/python (tools/setup_python.sh).
#   tools/wheel.sh [WHEEL]      without WHEEL it is built: minutes, seconds when ccache knows the sources
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD
unset PYTHONPATH
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

wheel=${1:-}
if [ -z "$wheel" ]; then
  "${PYTHON:-python3}" -m pip wheel . --quiet --no-deps --wheel-dir "$place"
  wheel=$(ls "$place"/*.whl)
  mkdir -p build/dist && cp "$wheel" build/dist/
fi
python3 tools/wheel_contents.py "$wheel"

"${PYTHON:-python3}" -m venv "$place/venv"
python=$place/venv/bin/python kw=$place/venv/bin/kw
"$python" -m pip install --quiet --disable-pip-version-check "$(realpath "$wheel")"
cd "$place"
cp "$checkout/examples/newcomer.py" .
"$python" newcomer.py
"$kw" doctor >/dev/null
"$kw" list
"$python" -m kernelwright list | cmp - <("$kw" list) # one command under two names

torch=$checkout/.venv/python/lib/python3*/site-packages
# shellcheck disable=SC2086,SC2012
torch=$(ls -d $torch 2>/dev/null | head -1 || true)
if [ -z "$torch" ]; then
  echo "wheel: no PyTorch in .venv/python (tools/setup_python.sh); its part and the tests did not run" >&2
  exit 3
fi
echo "$torch" >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
"$python" newcomer.py
"$kw" numerics --implementation cpu.torch.rms_norm --batch smoke --quiet
"$python" -c 'import kernelwright, sys; assert kernelwright.__file__.startswith(sys.prefix), kernelwright'
KW_TOY_LIBRARY=$checkout/build/release/lib/libkw_toy.so \
  "$python" -m pytest -q -p no:cacheprovider "$checkout/tests/python"
