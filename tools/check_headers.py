#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header of src/ and include/ compiles alone, twice over, with g++ and with clang++ if there is
one. Device headers (.cuh) wait for a device compiler."""

import concurrent.futures
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


def compile_alone(compiler, root, path):
    """None, or what the compiler said."""
    line = f'#include "{include_name(root, path)}"\n'
    target = PER_TARGET_FLAGS if path.name.endswith(PER_TARGET) else []
    result = subprocess.run([compiler, *FLAGS, *target, f"-I{root / 'include'}", "-x", "c++", "-"],
                            input=line * 2, capture_output=True, text=True, check=False)
    return None if result.returncode == 0 else result.stderr.strip()


def identity(compiler):
    return subprocess.run([compiler, "--version"], capture_output=True, text=True,
                          check=True).stdout


def problems(root, compilers, cache_file=None):
    # Those of src/ffi need the wheel apache-tvm-ffi, which is not where compilers look; each is the
    # first include of its source.
    headers = [path for path in source_tree.files(root, ["src", "include"], source_tree.HEADER_SUFFIXES)
               if "#include <tvm/" not in source_tree.text_of(path)]
    passed, work = source_tree.PassedBefore(cache_file), []
    for compiler in compilers:
        about = [identity(compiler), *FLAGS, *PER_TARGET_FLAGS]
        for path in headers:
            key = source_tree.digest(*about, str(path), *sorted(source_tree.closure(root, path)))
            if key not in passed:
                work.append((compiler, path, key))
    found = []
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        answers = pool.map(lambda item: compile_alone(item[0], root, item[1]), work)
        for (compiler, path, key), answer in zip(work, answers):
            if answer is None:
                passed.add(key)
            else:
                found.append(f"{path.relative_to(root)}: {compiler} alone:\n{answer}")
    passed.save()
    return len(headers), found


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--cache", type=Path, help="file that remembers what passed")
    arguments = parser.parse_args()
    there = [name for name in ("g++", "clang++") if shutil.which(name)]
    source_tree.report(f"headers ({', '.join(there)})",
                       *problems(arguments.root, there, arguments.cache))
