#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds a relocatable tree in .carry/install, which git ignores and a GPU machine runs as it is.
#   tools/gpu/build_install.sh [BUILD_FOLDER]      default build/release; JOBS=1 for the number of jobs
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
tree=.carry/install

[ -f "$build/CMakeCache.txt" ] ||
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
programs=(kw_backend_cuda_gpu_tests kw_cold_start_gpu_bench kw_slot_gpu_bench)
cmake --build "$build" -j "${JOBS:-1}" --target kw "${programs[@]}"
rm -rf "$tree"
cmake --install "$build" --prefix "$tree" --strip >/dev/null
for program in "${programs[@]}"; do
  install -s "$(find "$build" -name "$program" -type f | head -1)" "$tree/bin/"
done
for library in $(ldd "$tree/bin/kw_backend_cuda_gpu_tests" | awk '/libgtest/ {print $3}'); do
  cp -L "$library" "$tree/lib/"
done
"$tree/bin/kw" --version
du -sh "$tree"
