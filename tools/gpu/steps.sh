#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts that check and time on a GPU machine: the installed tree of
# tools/gpu/build_install.sh as $kw, and steps that note a row of a table each. The script ends within
# LIMIT seconds; what did not fit says so.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
tree=$PWD/.carry/install
kw=$tree/bin/kw
export KW_CACHE_DIR=${KW_CACHE_DIR:-/tmp/kw_cache} LD_LIBRARY_PATH=$tree/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
rows=$(mktemp)
logs=$(mktemp -d)

# step NAME SECONDS COMMAND...: runs it, keeps its log, notes a row of the table.
step() {
  local name=$1 limit=$2 start=$SECONDS code left=$((LIMIT - SECONDS))
  shift 2
  [ $left -ge 5 ] || { printf '%-28s skipped: no time left\n' "$name" >>"$rows"; return; }
  [ "$limit" -le $left ] || limit=$left
  timeout -k 5 "$limit" "$@" >"$logs/$name.log" 2>&1
  code=$?
  [ $code -eq 0 ] || { echo "== $name: exit code $code: $*" | cut -c1-300; tail -12 "$logs/$name.log" | cut -c1-300; }
  printf '%-28s %-8s %4d s  %s\n' "$name" "$([ $code -eq 0 ] && echo ok || echo "FAIL $code")" \
    $((SECONDS - start)) "$(grep -v '^ *$' "$logs/$name.log" | tail -1 | cut -c1-100)" >>"$rows"
}

# numerics NAME SECONDS FLAG...: of every operation that runs here.
numerics() { step "$1" "$2" "$kw" numerics --device cuda --quiet --output "$logs/$1.json" "${@:3}"; }

# sanitize TOOL SECONDS: the smoke batch of every operation under compute-sanitizer.
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
sanitize() {
  step "$1" "$2" "$sanitizer" --tool "$1" --error-exitcode 86 \
    "$kw" numerics --device cuda --quiet --batch smoke --fill normal --repeats 2 --quick
}
# The sanitizer has to see a planted error (exit code 86), or its silence means nothing.
sanitize_planted() {
  step planted_memcheck 60 bash -c '"$@"; [ $? -eq 86 ]' - "$sanitizer" --tool memcheck --error-exitcode 86 \
    "$tree/bin/kw_backend_cuda_gpu_tests" --gtest_also_run_disabled_tests --gtest_filter='*Planted*'
}

# bench NAME SECONDS FLAG...: one process, so that its rows share a roof.
bench() { step "bench_$1" "$2" "$kw" bench --device cuda --output "$logs/bench_$1.json" "${@:3}"; }

# The timed rows of all benches, then the steps; fails if a step did. Logs and reports are one file in
# $out, for few come back from such a machine.
report() {
  tar -czf "$out/reports.tgz" -C "$logs" .
  echo
  for log in "$logs"/bench_*.log; do
    [ -e "$log" ] || continue
    echo "-- $(basename "$log" .log)"
    grep -hE 'copy roof|cuda\.' "$log" | sed 's/  */ /g' | cut -c1-200
  done
  echo
  cat "$rows"
  ! grep -q FAIL "$rows"
}
