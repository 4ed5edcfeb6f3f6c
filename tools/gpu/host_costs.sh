#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the host pays on a GPU machine: the first kernels of a process with a cold and with a warm
# cache, ROUNDS times (default 5) in fresh processes; then a slot call and a raw launch, layer by layer
# and as `kw bench` times them. Needs
# .carry/install (tools/gpu/build_install.sh) and nothing else of the tree.
#   OUT=/tmp/out tools/gpu/host_costs.sh [PROBLEM PROBLEM]
set -eu
cd "$(dirname "$0")/../.."
tree=$PWD/.carry/install
out=${OUT:-/tmp/host_costs}
export LD_LIBRARY_PATH=$tree/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
mkdir -p "$out"
: >"$out/cold_start.jsonl"
for _ in $(seq "${ROUNDS:-5}"); do
  cache=$(mktemp -d)
  for state in cold warm; do
    KW_CACHE_DIR=$cache "$tree/bin/kw_cold_start_gpu_bench" "$@" |
      sed "s/^{/{\"cache\":\"$state\",/" >>"$out/cold_start.jsonl"
  done
  rm -rf "$cache"
done
# Two directions of one operation, for the compile times of their kernels.
KW_CACHE_DIR=$(mktemp -d) "$tree/bin/kw_cold_start_gpu_bench" \
  'rms_norm/qwen3_5 x=bf16[16384,4096] weight=bf16[4096]' \
  'rms_norm_backward/qwen3_5 dy=bf16[64,4096] x=bf16[64,4096] weight=bf16[4096] rstd=f32[64] want_dx=true want_dweight=true' \
  >>"$out/cold_start.jsonl"
cat "$out/cold_start.jsonl"
for _ in 1 2 3; do "$tree/bin/kw_slot_gpu_bench" 2000; done | tee "$out/slot.jsonl"
"$tree/bin/kw" bench --device cuda --protocol host_enqueue --output "$out/host.json" \
  --problem "${1:-rms_norm/qwen3_5 x=bf16[16,7168] weight=bf16[7168]}"
# The table has the slot call alone; in turns with it went the launches that it makes.
python3 - "$out/host.json" <<'END'
import json, sys
for timing in json.load(open(sys.argv[1]))["cases"][0]["benchmark"]:
    low, high = (each / 1e3 for each in timing["ci95"])
    print(f"{timing['protocol']:16} {timing['median'] / 1e3:.3f} us, 95 % interval {low:.3f} to {high:.3f}")
END
