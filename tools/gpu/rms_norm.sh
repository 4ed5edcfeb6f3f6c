#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rms_norm and rms_norm_backward on a GPU machine in one call: device tests, numerics (eager and
# graph), compute-sanitizer, benchmarks; a short table last. Needs .carry/install
# (tools/gpu/build_install.sh) and nothing else of the tree. Reports land in $OUT. Ends within LIMIT
# seconds, 560 by default; what did not fit says so.
#   OUT=/tmp/out tools/gpu/rms_norm.sh [quick|full]
set -u
cd "$(dirname "$0")/../.."
mode=${1:-quick}
out=${OUT:-/tmp/rms_norm}
tree=$PWD/.carry/install
kw=$tree/bin/kw
mkdir -p "$out"
export KW_CACHE_DIR=${KW_CACHE_DIR:-/tmp/kw_cache} LD_LIBRARY_PATH=$tree/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
numerics="$kw numerics --device cuda --quiet"
rows=$(mktemp)

# step NAME SECONDS COMMAND...: runs it, keeps its log, notes a row of the table.
step() {
  local name=$1 limit=$2 start=$SECONDS code left=$((${LIMIT:-560} - SECONDS))
  shift 2
  [ $left -ge 5 ] || { printf '%-32s skipped: no time left\n' "$name" >>"$rows"; return; }
  [ $limit -le $left ] || limit=$left
  timeout "$limit" "$@" >"$out/$name.log" 2>&1
  code=$?
  [ $code -eq 0 ] || { echo "== $name: exit code $code: $*"; tail -15 "$out/$name.log" | cut -c1-400; }
  printf '%-32s %-8s %4d s  %s\n' "$name" "$([ $code -eq 0 ] && echo ok || echo "FAIL $code")" \
    $((SECONDS - start)) "$(grep -v '^ *$' "$out/$name.log" | tail -1 | cut -c1-120)" >>"$rows"
}

"$kw" doctor | sed -n 1,16p
[ -x "$tree/bin/kw_backend_cuda_gpu_tests" ] && step device_tests 60 "$tree/bin/kw_backend_cuda_gpu_tests" --gtest_brief=1

for operation in rms_norm rms_norm_backward; do
  for launch in eager graph; do
    step "${operation}_smoke_$launch" 60 $numerics --operation $operation --batch smoke --mode $launch
  done
done

sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
tools="memcheck"
[ "$mode" = full ] && tools="memcheck racecheck synccheck"
# The sanitizer has to see a planted error (exit code 86), or its silence below means nothing.
step planted_memcheck 60 bash -c '"$@"; [ $? -eq 86 ]' - "$sanitizer" --tool memcheck --error-exitcode 86 \
  "$tree/bin/kw_backend_cuda_gpu_tests" --gtest_also_run_disabled_tests --gtest_filter='*Planted*'
for tool in $tools; do
  for operation in rms_norm rms_norm_backward; do
    step "${operation}_$tool" 60 "$sanitizer" --tool "$tool" --error-exitcode 86 \
      $numerics --operation $operation --batch smoke --fill normal --repeats 2
  done
done

# One process a problem: one that takes too long costs only itself.
bench() { step "bench_$1" 80 "$kw" bench --device cuda --output "$out/bench_$1.json" --problem "$2"; }
for shape in 262144,128 16384,4096 16384,7168; do
  hidden=${shape#*,} rows_of=${shape%,*} label=${shape/,/x}
  bench "forward_$label" "rms_norm/qwen3_5 x=bf16[$shape] weight=bf16[$hidden]"
  bench "backward_$label" "rms_norm_backward/qwen3_5 dy=bf16[$shape] x=bf16[$shape] weight=bf16[$hidden] rstd=f32[$rows_of] want_dx=true want_dweight=true"
done

if [ "$mode" = full ]; then
  for operation in rms_norm rms_norm_backward; do
    step "${operation}_ci" 150 $numerics --operation $operation --batch ci --output "$out/${operation}_ci.json"
  done
fi

echo
grep -hE 'copy roof|cuda.jit' "$out"/bench_*.log | cut -c1-220
echo
cat "$rows"
! grep -q FAIL "$rows"
