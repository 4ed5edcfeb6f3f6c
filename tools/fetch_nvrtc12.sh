#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts NVRTC of CUDA 12 (NVIDIA's wheel, 90 MB) into .venv/nvrtc12, which git ignores; the tests of the
# NVRTC toolchain then compile with it too.
set -eu
cd "$(dirname "$0")/.."
python3 -m pip install --quiet --no-deps --upgrade --target .venv/nvrtc12 'nvidia-cuda-nvrtc-cu12==12.*'
ls .venv/nvrtc12/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
