#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kw bench against PyTorch's events on a GPU machine (event_check.py), both from the wheel. Needs .whl/
# (tools/gpu/venv.sh says what of).
#   OUT=/tmp/out tools/gpu/event_check.sh
set -eu
cd "$(dirname "$0")/../.."
out=${OUT:-/tmp/event_check}
mkdir -p "$out"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset PYTHONPATH
tools/gpu/venv.sh "$place/venv"
export KW=$place/venv/bin/kw KW_CACHE_DIR=${KW_CACHE_DIR:-/tmp/kw_cache} PYTHONDONTWRITEBYTECODE=1
timeout "${LIMIT:-540}" "$place/venv/bin/python" tools/gpu/event_check.py "$out/event_check.json"
