#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every operation that `kw list` has on CUDA, on a GPU machine in one call: device tests, numerics (eager
# and graph), compute-sanitizer, the bench batch, with `full` also `ci` and a minute of tuning each; a
# short table last. Needs .carry/install
# (tools/gpu/build_install.sh) and nothing else of the tree. Reports land in $OUT. Ends within LIMIT
# seconds, 560 by default.
#   OUT=/tmp/out tools/gpu/operations.sh [quick|full]
set -u
mode=${1:-quick}
out=${OUT:-/tmp/operations}
mkdir -p "$out"
LIMIT=${LIMIT:-560}
. "$(dirname "$0")/steps.sh"

"$kw" doctor | sed -n 1,16p
[ -x "$tree/bin/kw_backend_cuda_gpu_tests" ] && step device_tests 60 "$tree/bin/kw_backend_cuda_gpu_tests" --gtest_brief=1
numerics smoke_eager 90 --batch smoke --mode eager
numerics smoke_graph 90 --batch smoke --mode graph
sanitize_planted
sanitize memcheck 120
if [ "$mode" = full ]; then
  sanitize racecheck 120
  sanitize synccheck 120
fi
bench batch 240 --batch bench
if [ "$mode" = full ]; then
  numerics ci_eager 200 --batch ci --mode eager
  numerics ci_graph 200 --batch ci --mode graph
  # Verifies every geometry that it reaches: a Cfg that is legal and wrong shows here.
  for implementation in $("$kw" list --json | grep -o 'cuda\.jit\.[a-z_]*' | sort -u); do
    step "tune_$implementation" 90 "$kw" tune --device cuda --implementation "$implementation" \
      --quick --quiet --max-seconds 60
  done
fi
report
