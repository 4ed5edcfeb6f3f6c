#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source looks as .clang-format (version 14) makes it look; --fix rewrites."""

import shutil
import subprocess

import source_tree

FOLDERS = ["src", "include", "examples", "tests"]


def tool():
    found = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not found:
        raise SystemExit("clang-format 14 is missing: tools/setup.sh check")
    return found


def problems(root, fix=False):
    paths = source_tree.files(root, FOLDERS, source_tree.CXX_SUFFIXES)
    if not paths:
        return 0, []
    mode = ["-i"] if fix else ["--dry-run", "--Werror"]
    result = subprocess.run([tool(), "--style=file", *mode, *paths], cwd=root, capture_output=True,
                            text=True, check=False)
    wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines()
                    if "[-Wclang-format-violations]" in line})
    if result.returncode and not wrong:
        raise SystemExit(result.stderr)
    return len(paths), [f"{path}: run `make format`" for path in wrong]


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--fix", action="store_true")
    arguments = parser.parse_args()
    source_tree.report("format", *problems(arguments.root, arguments.fix))
