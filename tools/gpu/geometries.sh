#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Geometries that `kw tune` would try, compiled, verified and timed on a GPU machine: all of a problem's,
# where operations.sh takes a quick choice of them; `candidates` in a log says how many EACH seconds
# reached. By default problems of rms_norm whose geometries have clusters and several rows a block. A
# short table last. Needs .carry/install (tools/gpu/build_install.sh).
#   OUT=/tmp/out EACH=100 tools/gpu/geometries.sh [PROBLEM...]
set -u
out=${OUT:-/tmp/geometries}
mkdir -p "$out"
LIMIT=${LIMIT:-580}
. "$(dirname "$0")/steps.sh"

[ $# -gt 0 ] || set -- \
  'rms_norm/standard x=bf16[16384,7168] weight=bf16[7168]' \
  'rms_norm/qwen3_5 x=f32[8192,4096] weight=f32[4096] want_rstd=true' \
  'rms_norm_backward/standard dy=bf16[16384,7168] x=bf16[16384,7168] weight=bf16[7168] rstd=f32[16384] want_dx=true want_dweight=true'
n=0
for problem; do
  n=$((n + 1))
  step "tune_$n" 250 "$kw" tune --device cuda --implementation "cuda.jit.${problem%%/*}" \
    --problem "$problem" --max-seconds "${EACH:-100}"
done
report
