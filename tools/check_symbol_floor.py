#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is shipped runs on the oldest systems that we promise: no executable or shared library of an
installed tree asks for a newer symbol of libc or libstdc++ than FLOORS allows (DESIGN 6)."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import source_tree

# RHEL 9 and Ubuntu 22.04 have these; Debian 12, where we build, has newer ones.
FLOORS = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}
# "0000  DF *UND*  0000 (GLIBC_2.35) hypot": what the object takes from others.
NEEDED = re.compile(r"\*UND\*\s.*?\(?([A-Z]+)_([\d.]+)\)?\s+(\S+)$", re.MULTILINE)


def too_new(name, listing):
    """Findings in `objdump -T` of one object."""
    found = []
    for library, version, symbol in NEEDED.findall(listing):
        floor = FLOORS.get(library)
        if floor and tuple(map(int, version.split("."))) > floor:
            limit = ".".join(map(str, floor))
            found.append(f"{name}: {symbol} needs {library}_{version}, newer than {library}_{limit}; "
                         "do without it, or write it out")
    return found


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def problems(build, tree):
    for component in ([], ["--component", "python"]):
        result = subprocess.run(["cmake", "--install", build, "--prefix", tree, *component],
                                capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"symbol floor: cmake --install gave {result.returncode}\n{result.stderr}")
    objects = sorted(path for path in tree.rglob("*")
                     if path.is_file() and not path.is_symlink() and is_elf(path))
    found = []
    for path in objects:
        listing = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=True)
        found += too_new(path.relative_to(tree), listing.stdout)
    return len(objects), found


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--build", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        answer = problems(arguments.build.resolve(), Path(folder))
    source_tree.report("symbol floor", *answer)
