#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy of fetch_clang_tidy.sh with .clang-tidy over the sources of src/ and examples/, and what of
our headers they include. What passed with the same contents is not looked at again."""

import functools
import re
import subprocess
from pathlib import Path

import source_tree

TOOL = source_tree.ROOT / ".venv/clang-tidy/clang_tidy/data/bin/clang-tidy"


@functools.cache
def compiler_headers():
    """g++'s own, to look in last: the wheel brings clang's without omp.h."""
    return subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True,
                          check=True).stdout.strip()


def version():
    if not TOOL.is_file():
        raise SystemExit(f"{TOOL} is missing: tools/fetch_clang_tidy.sh")
    return subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout


def lint(build, path):
    """None, or the findings."""
    # The flags are g++'s, and -Werror (CI) would make errors of those that clang does not know.
    flags = ["-Wno-error", f"-idirafter{compiler_headers()}"]
    result = subprocess.run([TOOL, "--quiet", f"-p={build}", *(f"--extra-arg={flag}" for flag in flags),
                             str(path)], capture_output=True, text=True, check=False)
    return result.stdout.strip() or result.stderr.strip() if result.returncode else None


def problems(root, build):
    commands = source_tree.compiled_sources(root, build)
    rules = source_tree.digest(root / ".clang-tidy", version())
    keys = {path: source_tree.digest(rules, re.sub(r"\s-o\s.*", "", command),
                                     *sorted(source_tree.closure(root, path)))
            for path, command in commands.items()}
    return len(keys), source_tree.look(keys, lambda path: lint(build, path), build / ".cache" / "lint.json")


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--build", type=Path, required=True,
                        help="build tree with compile_commands.json")
    arguments = parser.parse_args()
    source_tree.report("lint", *problems(arguments.root, arguments.build.resolve()))
