#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The planted defects as kernels of a GPU: the table of `kw numerics --self-test --device cuda`, every
# survivor and false alarm with its message, and the report in $OUT. Needs .carry/install
# (tools/gpu/build_install.sh) and nothing else of the tree. Ends within LIMIT seconds, 400 by default.
# On a machine with two GPUs `wrong_device` runs too.
#   OUT=/tmp/out tools/gpu/self_test.sh
set -u
out=${OUT:-/tmp/self_test}
mkdir -p "$out"
LIMIT=${LIMIT:-400}
. "$(dirname "$0")/steps.sh"

"$kw" doctor | sed -n 1,16p
step self_test 120 "$kw" numerics --self-test --device cuda
step guard_pages 120 "$kw" numerics --self-test --device cuda --guard-pages
step smoke_pages 120 "$kw" numerics --device cuda --batch smoke --quiet --guard-pages
sed 's/  */ /g' "$logs/self_test.log" | cut -c1-220
report
