#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A source must be rejected by the compiler, with the text of its `// expect: <text>` line in the message.
The same source with -DKW_COMPILES must be accepted where it tests that macro: the contrast shows that
nothing else is wrong with it."""

import re
import subprocess
import sys
from pathlib import Path

import source_tree

EXPECT = re.compile(r"^// expect: (.+)$", re.MULTILINE)


def compile_source(root, compiler, source, *flags):
    return subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{root / 'include'}",
                           f"-I{root / 'tests'}", *flags, str(source)],
                          capture_output=True, text=True, check=False)


def problem(root, compiler, source):
    """None, or why the source is no proof."""
    text = source.read_text()
    expected = EXPECT.search(text)
    if not expected:
        return "has no line `// expect: <text>`"
    result = compile_source(root, compiler, source)
    if result.returncode == 0:
        return "compiles"
    if expected.group(1).strip() not in result.stderr:
        return f"fails without saying '{expected.group(1).strip()}':\n{result.stderr}"
    if "KW_COMPILES" in text:
        result = compile_source(root, compiler, source, "-DKW_COMPILES")
        if result.returncode != 0:
            return f"does not compile with -DKW_COMPILES either:\n{result.stderr}"
    return None


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("source", type=Path)
    arguments = parser.parse_args()
    why = problem(arguments.root, arguments.compiler, arguments.source)
    if why:
        sys.exit(f"{arguments.source}: {why}")
