#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What DESIGN 11 asks of a file beyond its format: licence line, opening comment, pragma once, snake_case
file name, no type called Manager, Helper or Utils, nothing left open, no output from the library."""

import re

import source_tree

FOLDERS = ["src", "include", "examples", "tests", "tools", "python"]
SPDX = "SPDX-License-Identifier: Apache-2.0"
SNAKE = re.compile(r"^[a-z0-9_]+(-inl)?(\.[a-z]+)+$")
# Highway includes these once per instruction set.
PER_TARGET = ("_body.hpp", "-inl.hpp")
EMPTY_NAME = re.compile(r"\b(?:class|struct|namespace|enum)\s+\w*(?:Manager|Helper|Utils?)\b")
OPEN_END = re.compile(r"\b(?:TODO|FIXME|XXX)\b")
OUTPUT = re.compile(r"(?<![\w.>:])(?:std::|fmt::)?"
                    r"(?:cout|cerr|clog|f?printf|f?puts|print|abort|_?exit|terminate)\s*(?:\(|<<)")
# `A() : n_(1), text_() {}`, or a line of a longer list.
EMPTY_INIT = re.compile(r"^[^?]*(?:^|\)|noexcept)\s*:\s+(?:\w+\([^()]*\),\s*)*\w+\(\)\s*(?:,|\{|$)"
                        r"|^\s+\w+_\(\)\s*(?:,|\{)")
LIBRARY = re.compile(r"^src/(?!cli/)")


def problems(root):
    checked, found = 0, []
    for path in source_tree.files(root, FOLDERS, source_tree.CXX_SUFFIXES + (".py", ".sh")):
        checked += 1
        relative, lines = path.relative_to(root).as_posix(), source_tree.text_of(path).splitlines()

        def complain(number, text):
            found.append(f"{relative}:{number}: {text}")

        if SPDX not in "\n".join(lines[:2]):
            complain(1, f"the first line says '{SPDX}'")
        if not SNAKE.match(path.name) and path.name != "__init__.py":
            complain(1, "file names are snake_case")
        if path.suffix in source_tree.HEADER_SUFFIXES + (".cuh",):
            head = lines[1:8]
            if not head or not head[0].startswith("//"):
                complain(2, "a header says in 1-4 lines what it is and what it must not include")
            if "#pragma once" not in lines and not path.name.endswith(PER_TARGET):
                complain(1, "no #pragma once")
        if path.suffix not in source_tree.CXX_SUFFIXES:
            continue
        for number, line in enumerate(lines, 1):
            if EMPTY_NAME.search(line):
                complain(number, "Manager, Helper and Utils name nothing")
            if EMPTY_INIT.search(line):
                complain(number, "a member that is initialised with nothing is so without being named")
            if OPEN_END.search(line):
                complain(number, "left open")
            if LIBRARY.match(relative) and OUTPUT.search(line.split("//")[0]):
                complain(number, "the library never prints, aborts or exits")
    return checked, found


if __name__ == "__main__":
    source_tree.report("style", *problems(source_tree.parser(__doc__).parse_args().root))
