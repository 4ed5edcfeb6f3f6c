#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rms_norm and its backward on a GPU machine in one call of at most LIMIT seconds (275 by default):
# correctness first (numerics `ci` eager and graph, three sanitizers over the smoke batch), then device
# time of the rows that are promised, of wide and of unaligned ones with the geometries that compete for
# them, host costs and peers. A short table last. Needs .carry/install (tools/gpu/build_install.sh); the
# peers PyTorch, and Liger's where PEERS names a folder that has it.
#   OUT=/tmp/out tools/gpu/wide.sh
set -u
out=${OUT:-/tmp/wide}
mkdir -p "$out"
LIMIT=${LIMIT:-275}
. "$(dirname "$0")/steps.sh"

# forward DTYPE SHAPE [@ALIGN], backward likewise: a problem as text.
forward() { echo "rms_norm/standard x=$1[$2]${3:-} weight=$1[${2#*,}]${3:-}"; }
backward() {
  echo "rms_norm_backward/standard dy=$1[$2]${3:-} x=$1[$2]${3:-} weight=$1[${2#*,}]${3:-}" \
    "rstd=f32[${2%,*}] want_dx=true want_dweight=true"
}
# As problems of one bench.
each() { for text in "$@"; do printf -- '--problem\n%s\n' "$text"; done; }
rows_of() { mapfile -t problems < <(each "$@"); }

"$kw" doctor | sed -n 1,12p | cut -c1-120
# On all cores first: numerics would compile one after the other.
step precompile_ci 60 "$kw" precompile --batch ci --quiet
numerics ci_eager 60 --batch ci --mode eager
numerics ci_graph 60 --batch ci --mode graph
sanitize memcheck 40
sanitize racecheck 40
sanitize synccheck 40

rows_of "$(forward bf16 16384,4096)" "$(forward bf16 16384,7168)" "$(forward bf16 262144,128)"
bench forward 30 "${problems[@]}"
rows_of "$(backward bf16 16384,4096)" "$(backward bf16 16384,7168)" "$(backward bf16 262144,128)"
bench backward 40 "${problems[@]}"
# Rows at any address, and three geometries of the widest: by formula, 1024 threads (64 registers),
# and weights read again from memory as it was before.
unaligned=$(backward bf16 4096,16383)
bench unaligned 25 --problem "$unaligned" --problem "$(backward bf16 16384,4097)"
bench unaligned_1024 15 --problem "$unaligned" --cfg threads_per_row=1024
bench unaligned_reread 15 --problem "$unaligned" --cfg shared_weights=false --cfg stages=3
rows_of "$(forward f32 256,262144)" "$(forward bf16 2048,65536)" "$(forward bf16 16384,4096 @2)"
bench wide_forward 30 "${problems[@]}"
rows_of "$(backward f32 256,262144)" "$(backward bf16 512,262144)" "$(backward bf16 2048,65536)" \
  "$(backward bf16 4096,16384)"
bench wide_backward 40 "${problems[@]}"

step host_costs 40 env OUT="$logs" ROUNDS=2 tools/gpu/host_costs.sh
step peers 90 env PYTHONPATH="${PEERS:-}" python3 tools/gpu/rms_norm_peers.py
echo
grep -hE '"cache"|empties|^(raw_launch|host_enqueue)' "$logs/host_costs.log" | cut -c1-420 | tail -10
grep -h '"who"' "$logs/peers.log"
report
