#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every geometry that `kw tune` would try is compiled, verified and timed on a GPU machine; exit code 1
# when one fails. By default problems of rms_norm whose geometries have clusters and several rows a
# block. Needs .carry/install (tools/gpu/build_install.sh).
#   OUT=/tmp/out LIMIT=100 tools/gpu/geometries.sh [PROBLEM...]      LIMIT: seconds each
set -u
out=${OUT:-/tmp/geometries}
mkdir -p "$out"
tree=$(cd "$(dirname "$0")/../.." && pwd)/.carry/install
export LD_LIBRARY_PATH=$tree/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
[ $# -gt 0 ] || set -- \
  'rms_norm/standard x=bf16[16384,7168] weight=bf16[7168]' \
  'rms_norm/qwen3_5 x=f32[8192,4096] weight=f32[4096] want_rstd=true' \
  'rms_norm_backward/standard dy=bf16[16384,7168] x=bf16[16384,7168] weight=bf16[7168] rstd=f32[16384] want_dx=true want_dweight=true'
failed=0 n=0
for problem; do
  n=$((n + 1))
  "$tree/bin/kw" tune --implementation "cuda.jit.${problem%%/*}" --device cuda --problem "$problem" \
    --max-seconds "${LIMIT:-100}" --output "$out/$n.json" >"$out/$n.txt" 2>&1 || failed=1
  grep -q '; 0 candidates failed;' "$out/$n.txt" || failed=1
  tail -6 "$out/$n.txt"
done
exit $failed
