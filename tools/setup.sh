#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Debian 12 machine ready: tools/setup.sh [build|check|tsan]. Installs what is missing when
# root, else prints the line to run and exits 4. Does nothing, in milliseconds, when nothing is missing.
set -euo pipefail

packages=(make cmake ninja-build g++ ccache mold python3 libfmt-dev libyaml-cpp-dev
          nlohmann-json3-dev libcli11-dev libhwy-dev libssl-dev libgtest-dev libbenchmark-dev
          python3-jsonschema)
case "${1:-build}" in
  build) ;;
  check) packages+=(clang-14 clang-format-14 libomp-14-dev) ;;
  tsan) packages+=(clang-14 libclang-rt-14-dev libomp-14-dev) ;;
  *) echo "tools/setup.sh: unknown set '$1'; use build, check or tsan" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian machine; CMake will name what it misses among: ${packages[*]}" >&2
  exit 0
fi

installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' "${packages[@]}" 2>/dev/null |
            sed -n 's/^ii *//p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

install="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
  printf 'setup: missing Debian packages. Run\n  sudo apt-get update && sudo %s\nand then again.\n' \
    "$install" >&2
  exit 4
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && $install; }; then
  printf 'setup: apt failed. Needed:\n  apt-get update && %s\n' "$install" >&2
  exit 4
fi
