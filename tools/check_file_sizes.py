#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Length of files and number of macros stay within DESIGN 11; tools/allowed.txt holds exceptions with
their reasons."""

import re

import source_tree

HOST_LINES, BODY_LINES, PAGE_LINES = 500, 800, {"README.md": 150, "CONTRIBUTING.md": 120}
FOLDERS = ["src", "include", "examples", "tests", "tools", "python"]
MACROS_PER_1000_LINES = 2
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
# Highway is steered by macros of its own.
FOREIGN_MACRO = re.compile(r"^HWY_")


def limit(path):
    return BODY_LINES if "_body." in path.name or path.suffix in (".cuh", ".cu") else HOST_LINES


def problems(root):
    exempt = source_tree.allowed(root, "file_sizes")
    checked, found, library_lines, macros = 0, [], 0, []
    paths = source_tree.files(root, FOLDERS, source_tree.CXX_SUFFIXES + (".py", ".sh"))
    limits = {path: limit(path) for path in paths}
    limits |= {root / name: most for name, most in PAGE_LINES.items() if (root / name).is_file()}
    for path, most in limits.items():
        checked += 1
        relative, text = str(path.relative_to(root)), source_tree.text_of(path)
        lines = text.count("\n")
        if lines > most and relative not in exempt:
            found.append(f"{relative}: {lines} lines, limit {most}")
        if relative.startswith(("src/", "include/")):
            library_lines += lines
            for name in DEFINE.findall(text):
                if name.startswith("KW_"):
                    macros.append(f"{relative}: {name}")
                elif not FOREIGN_MACRO.match(name):
                    found.append(f"{relative}: macro {name} lacks the prefix KW_")
    budget = max(2, library_lines * MACROS_PER_1000_LINES // 1000)
    if len(macros) > budget:
        found.append(f"{len(macros)} macros in {library_lines} lines, budget {budget}: " +
                     ", ".join(macros))
    return checked, found


if __name__ == "__main__":
    source_tree.report("file sizes", *problems(source_tree.parser(__doc__).parse_args().root))
