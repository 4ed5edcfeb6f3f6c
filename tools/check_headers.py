#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header of src/ and include/ compiles alone, twice over, with g++ and with clang++ if there is
one. Device headers (.cuh) wait for a device compiler. With --build, what a source of that build tree
includes before anything else is left to that source: the build compiles it, in CI with warnings as errors,
and those of src/ and examples/ go through check_clang.py; that including it again is harmless, check_style.py
sees by its #pragma once."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import source_tree

FLAGS = ["-std=c++20", "-fsyntax-only", "-fopenmp", "-Wall", "-Wextra", "-Werror"]
# Headers that Highway compiles once per instruction set are compiled for one of them.
PER_TARGET = ("_body.hpp", "-inl.hpp")
PER_TARGET_FLAGS = ["-march=haswell", "-maes"]


def include_name(root, path):
    parts = path.relative_to(root).parts
    return "/".join(parts[1:] if parts[0] == "include" else ("kernelwright",) + parts[1:])


def compile_together(compiler, root, paths):
    """None, or what the compiler said of a source that includes each of `paths` twice."""
    text = "".join(f'#include "{include_name(root, path)}"\n' * 2 for path in paths)
    target = PER_TARGET_FLAGS if any(path.name.endswith(PER_TARGET) for path in paths) else []
    result = subprocess.run([compiler, *FLAGS, *target, f"-I{root / 'include'}", "-x", "c++", "-"],
                            input=text, capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else result.stderr.strip()


def compile_alone(compiler, root, path):
    """None, or what the compiler said."""
    return compile_together(compiler, root, [path])


def includes_first(root, source):
    """The project header that `source` includes before any other line of code, or None."""
    found = source_tree.includes(source)
    if not found:
        return None
    line, name, _ = found[0]
    before = source_tree.text_of(source).splitlines()[:line - 1]
    if any(text.strip() and not text.lstrip().startswith("//") for text in before):
        return None
    return source_tree.resolve(root, name, source)


def proven_by_build(root, build):
    """Headers that a compiled source includes first: compiler -> paths. check_clang.py has no tests."""
    commands = json.loads((build / "compile_commands.json").read_text())
    sources = sorted({Path(entry["file"]) for entry in commands})
    first = {source: includes_first(root, source) for source in sources
             if source.is_file() and source.is_relative_to(root)}
    linted = {header for source, header in first.items()
              if source.relative_to(root).parts[0] in ("src", "examples")}
    return {"g++": set(first.values()), "clang++": linted}


def identity(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True,
                          check=True).stdout


def problems(root, compilers, cache_file=None, build=None):
    # Those of src/ffi need the wheel apache-tvm-ffi, which is not where compilers look; each is the
    # first include of its source.
    headers = [path for path in source_tree.files(root, ["src", "include"], source_tree.HEADER_SUFFIXES)
               if "#include <tvm/" not in source_tree.text_of(path)]
    proven, keys = proven_by_build(root, build) if build else {}, {}
    for compiler in compilers:
        about = [identity(compiler), *FLAGS, *PER_TARGET_FLAGS]
        for path in headers:
            if path in proven.get(compiler, ()) and not path.name.endswith(PER_TARGET):
                continue
            keys[compiler, path] = source_tree.digest(*about, str(path),
                                                      *sorted(source_tree.closure(root, path)))

    def check(item):
        compiler, path = item
        answer = compile_alone(compiler, root, path)
        return answer and f"{path.relative_to(root)}: {compiler} alone:\n{answer}"
    return len(headers), source_tree.look(keys, check, cache_file, min(2, os.cpu_count() or 1))


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--cache", type=Path, help="file that remembers what passed")
    parser.add_argument("--build", type=Path, help="build tree with compile_commands.json")
    arguments = parser.parse_args()
    there = [name for name in ("g++", "clang++") if shutil.which(name)]
    source_tree.report(f"headers ({', '.join(there)})",
                       *problems(arguments.root, there, arguments.cache, arguments.build))
