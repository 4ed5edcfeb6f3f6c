#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the host pays on a GPU machine: the first kernels of a process with a cold and with a warm
# cache, ROUNDS times (default 5) in fresh processes; then a slot call and a raw launch. Needs
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
cat "$out/cold_start.jsonl"
"$tree/bin/kw" bench --device cuda --protocol host --output "$out/host.json" \
  --problem "${1:-rms_norm/qwen3_5 x=bf16[16,7168] weight=bf16[7168]}"
