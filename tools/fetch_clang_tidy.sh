#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Puts clang-tidy (PyPI, 46 MB) into .venv/clang-tidy, which git ignores, for lint.py; does nothing when it
# is there. Debian's version 14 matches every declaration of the standard library, too, and takes three
# times as long.
set -euo pipefail
cd "$(dirname "$0")/.."
version=23.1.4 folder=.venv/clang-tidy
[ -d "$folder/clang_tidy-$version.dist-info" ] && exit 0
rm -rf "$folder"
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps \
  --target "$folder" "clang-tidy==$version"
