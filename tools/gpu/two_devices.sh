#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What needs two GPUs of one model: the class checks of every case of rms_norm, forward and backward, with
# the second device beside the first (check `second_device`), from either device, eager and captured; and
# the self-test, in which a kernel that always works on the first device has to be found. A short table
# last. Needs .carry/install (tools/gpu/build_install.sh) and nothing else of the tree.
#   OUT=/tmp/out tools/gpu/two_devices.sh
set -u
out=${OUT:-/tmp/two_devices}
mkdir -p "$out"
LIMIT=${LIMIT:-560}
. "$(dirname "$0")/steps.sh"

nvidia-smi -L
[ "$(nvidia-smi -L | wc -l)" -ge 2 ] || { echo "two devices are needed"; exit 4; }

# on NAME OPERATION FLAG...: the smoke batch with its class checks; the last line counts the cases that had
# a second device, of those that had class checks at all.
on() {
  local name=$1 operation=$2
  shift 2
  step "$name" 120 bash -c '
    "$0" numerics --operation "$1" --batch smoke --quiet --output "$2" "${@:3}" || exit
    soaked=$(grep -c "\"name\": *\"soak\"" "$2")
    beside=$(grep -c "\"name\": *\"second_device\"" "$2")
    echo "$beside of $soaked classes beside a second device"
    [ "$soaked" -gt 0 ] && [ "$beside" -eq "$soaked" ]' "$kw" "$operation" "$logs/$name.json" "$@"
}
for operation in rms_norm rms_norm_backward; do
  on "${operation}_on_0" $operation --device cuda:0
  on "${operation}_on_1" $operation --device cuda:1
  on "${operation}_graph_on_1" $operation --device cuda:1 --mode graph
done
step self_test 300 "$kw" numerics --self-test --device cuda
grep -E 'wrong_device|lives|without a defect|kill rate' "$logs/self_test.log" | sed 's/  */ /g' | cut -c1-220
report
