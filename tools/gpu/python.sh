#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Python layer on a GPU machine: tests, numerics of the Python backends, then what calls cost the
# host. Needs .carry/python (cmake --install build/release --component python --prefix .carry/python
# --strip), .carry/install (tools/gpu/build_install.sh; for the raw launch) and, in .whl/, the wheels
# of apache-tvm-ffi, packaging and liger_kernel for this machine's Python.
#   OUT=/tmp/out tools/gpu/python.sh
set -u
cd "$(dirname "$0")/../.."
out=${OUT:-/tmp/python}
mkdir -p "$out"
site=$(mktemp -d)
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" .whl/*.whl
export PYTHONPATH=$PWD/.carry/python:$site PYTHONDONTWRITEBYTECODE=1
python3 -m pytest -q -x --maxfail=5 -p no:cacheprovider tests/python_gpu >"$out/tests.txt" 2>&1
tests=$?
tail -25 "$out/tests.txt"
for name in cuda.liger_kernel.rms_norm cuda.torch.rms_norm; do
  timeout 90 python3 -m kernelwright numerics --device cuda --implementation $name --batch smoke \
    --quiet --output "$out/$name.json" >"$out/$name.txt" 2>&1
  echo "numerics $name: exit $?"
  tail -4 "$out/$name.txt"
done
LD_LIBRARY_PATH=.carry/install/lib .carry/install/bin/kw bench --device cuda --protocol host_enqueue \
  --problem 'rms_norm/standard x=bf16[16,7168] weight=bf16[7168]' --output "$out/host.json" | tail -8
python3 tools/gpu/python_costs.py --host "$out/host.json" --output "$out/costs.json" |
  tee "$out/costs.txt"
exit $tests
