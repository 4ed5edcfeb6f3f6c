#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kw bench against PyTorch's events on a GPU machine (event_check.py). Needs .carry/install
# (tools/gpu/build_install.sh), .carry/python and the wheels in .whl/ (tools/gpu/python.sh says how).
#   OUT=/tmp/out tools/gpu/event_check.sh
set -eu
cd "$(dirname "$0")/../.."
out=${OUT:-/tmp/event_check}
mkdir -p "$out"
site=$(mktemp -d)
python3 -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" .whl/*.whl
export PYTHONPATH=$PWD/.carry/python:$site PYTHONDONTWRITEBYTECODE=1
export KW_CACHE_DIR=${KW_CACHE_DIR:-/tmp/kw_cache}
# kw finds its libraries through its own rpath; Python brings those of its package.
export KW=$PWD/.carry/install/bin/kw
exec timeout "${LIMIT:-540}" python3 tools/gpu/event_check.py "$out/event_check.json"
