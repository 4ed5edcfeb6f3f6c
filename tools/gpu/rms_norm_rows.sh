#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The rms_norm rows of PERFORMANCE.md on a GPU machine in one call of at most LIMIT seconds (580 by
# default): numerics of each row before its device time, geometries that compete for the backward,
# host costs, peers; with `wide` also wide and unaligned rows. A short table last. Needs .carry/install
# (tools/gpu/build_install.sh); the peers PyTorch, and what tools/gpu/python.sh needs.
#   OUT=/tmp/out tools/gpu/rms_norm_rows.sh [wide]
set -u
mode=${1:-}
out=${OUT:-/tmp/rms_norm_rows}
mkdir -p "$out"
LIMIT=${LIMIT:-580}
. "$(dirname "$0")/steps.sh"

# forward DTYPE SHAPE [@ALIGN [MORE]], backward likewise: a problem as text.
forward() { echo "rms_norm/standard x=$1[$2]${3:-} weight=$1[${2#*,}]${3:-} ${4:-}"; }
backward() {
  echo "rms_norm_backward/standard dy=$1[$2]${3:-} x=$1[$2]${3:-} weight=$1[${2#*,}]${3:-}" \
    "rstd=f32[${2%,*}] want_dx=true want_dweight=true"
}
# device NAME SECONDS PROBLEM... [-- FLAG...]: device time of problems in one process.
device() {
  local name=$1 limit=$2 problems=()
  shift 2
  for (( ; $#; )); do
    case $1 in
      --) shift && break ;;
      *) problems+=(--problem "$1") && shift ;;
    esac
  done
  bench "$name" "$limit" --protocol graph_hot "${problems[@]}" "$@"
}

"$kw" doctor | sed -n 1,12p | cut -c1-120
saving=want_rstd=true
device forward 60 "$(forward bf16 16384,4096)" "$(forward bf16 16384,7168)" "$(forward bf16 262144,128)" \
  "$(forward bf16 16384,4096 '' $saving)" "$(forward bf16 16384,7168 '' $saving)" \
  "$(forward bf16 262144,128 '' $saving)"
device backward 60 "$(backward bf16 16384,4096)" "$(backward bf16 16384,7168)" "$(backward bf16 262144,128)"

# What else might serve the backward.
compete() {
  local name=$1 problem=$2
  shift 2
  device "$name" 25 "$problem" -- "${@/#/--cfg=}"
}
row=$(backward bf16 16384,7168)
compete 7168_filled_by_turns "$row" fill_first=false
compete 7168_weights_kept "$row" weights=registers
compete 7168_896x1 "$row" threads_per_row=896 rows_per_block=1 hold=true fill_first=false weights=registers
compete 4096_s4 "$(backward bf16 16384,4096)" stages=4
compete 4096_held_filled_first "$(backward bf16 16384,4096)" stages=2 hold=true fill_first=true weights=memory
compete f32_4096_staged "$(backward f32 8192,4096)" stages=3 fill_first=true weights=memory
compete f32_4096 "$(backward f32 8192,4096)"

if [ "$mode" = wide ]; then
  device unaligned 60 "$(forward bf16 16384,4097)" "$(forward bf16 262144,127)" "$(forward bf16 4096,16383)" \
    "$(forward bf16 16384,4096 @2)"
  device unaligned_backward 60 "$(backward bf16 4096,16383)" "$(backward bf16 16384,4097)" \
    "$(backward bf16 262144,127)"
  device wide 60 "$(forward f32 256,262144)" "$(forward bf16 2048,65536)"
  device wide_backward 60 "$(backward f32 256,262144)" "$(backward bf16 512,262144)" \
    "$(backward bf16 2048,65536)" "$(backward bf16 4096,16384)"
fi
step host_costs 60 env OUT="$logs" ROUNDS=3 tools/gpu/host_costs.sh

# Peers print a line each as they end; what a limit cuts off is then not lost.
site=$(mktemp -d)
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" .whl/*.whl
step peers 220 env PYTHONPATH="$PWD/.carry/python:$site" PYTHONDONTWRITEBYTECODE=1 \
  python3 tools/gpu/rms_norm_peers.py
echo
grep -hE '"cache"|empties|^(raw_launch|host_enqueue|over_raw)' "$logs/host_costs.log" | cut -c1-420
grep -h '"who"' "$logs/peers.log"
report
status=$?
echo
python3 tools/gpu/rms_norm_peers.py --table "$logs/peers.log" "$logs/bench_forward.json" \
  "$logs/bench_backward.json"
exit $status
