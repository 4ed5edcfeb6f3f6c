#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The wheel on a GPU machine, installed into a fresh venv (tools/gpu/venv.sh) and run outside the
# checkout: a newcomer's script and `kw`, the tests on both devices, numerics of the Python backends,
# then what calls cost the host. A table of what passed last. Besides .whl/ it needs
# .carry/libkw_toy.so (build/release/lib/libkw_toy.so) for the tests.
#   OUT=/tmp/out tools/gpu/python.sh
set -u
checkout=$(cd "$(dirname "$0")/../.." && pwd)
out=$(mkdir -p "${OUT:-/tmp/python}" && cd "${OUT:-/tmp/python}" && pwd)
unset PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1 KW_TOY_LIBRARY=$checkout/.carry/libkw_toy.so
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$checkout/tools/gpu/venv.sh" "$place/venv" || exit
python=$place/venv/bin/python kw=$place/venv/bin/kw
cp "$checkout/examples/newcomer.py" "$place"
cd "$place" || exit

rows=
# step NAME SECONDS COMMAND...: the end of its log, a row of the table.
step() {
  local name=$1 limit=$2 start=$SECONDS code
  shift 2
  timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1
  code=$?
  echo "== $name"
  tail -"${LINES_SHOWN:-6}" "$out/$name.txt"
  rows+=$(printf '%-28s exit code %d, %d s' "$name" $code $((SECONDS - start)))$'\n'
  [ $code -eq 0 ] || failed=1
}
failed=0
from_wheel='import kernelwright, sys
assert kernelwright.__file__.startswith(sys.prefix), kernelwright
print(sys.version, kernelwright.__file__)'
step from_the_wheel 20 "$python" -c "$from_wheel"
step newcomer 60 "$python" newcomer.py
step doctor 20 "$kw" doctor
step list 20 "$kw" list
step tests_python 120 "$python" -m pytest -q -p no:cacheprovider "$checkout/tests/python"
step tests_python_gpu 120 "$python" -m pytest -q --maxfail=5 -p no:cacheprovider "$checkout/tests/python_gpu"
for name in cuda.liger_kernel.rms_norm cuda.torch.rms_norm; do
  step numerics_$name 90 "$kw" numerics --device cuda --implementation $name --batch smoke --quiet \
    --output "$out/$name.json"
done
step host 60 "$kw" bench --device cuda --implementation cuda.jit.rms_norm --protocol host_enqueue \
  --output "$out/host.json" --problem 'rms_norm/standard x=bf16[16,7168] weight=bf16[7168]'
LINES_SHOWN=60 step costs 60 "$python" "$checkout/tools/gpu/python_costs.py" --host "$out/host.json" \
  --output "$out/costs.json"
echo
printf %s "$rows"
exit $failed
