#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed tree works after being moved: `kw doctor` runs, nothing of ours or of the bundled
libraries is looked for outside it, no header misses another one, and a project that says
find_package(kernelwright) builds and runs."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import check_headers
import source_tree

BUNDLED = re.compile(r"^\s*(lib(?:kw|fmt|hwy|yaml-cpp|crypto|gomp)\.so\S*) => (\S+)", re.MULTILINE)


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            check=False, **options)
    if result.returncode:
        sys.exit(f"install: `{' '.join(map(str, command))}` gave {result.returncode}\n"
                 f"{result.stdout}{result.stderr}")
    return result.stdout


def strangers(binary, tree):
    """Libraries that the tree bundles and that `binary` finds elsewhere or not at all."""
    return [f"{binary.name}: {name} -> {place}" for name, place in BUNDLED.findall(run("ldd", binary))
            if not Path(os.path.realpath(place)).is_relative_to(tree)]


def problems(root, build, folder):
    first, tree = folder / "first", (folder / "moved").resolve()
    run("cmake", "--install", build, "--prefix", first)
    shutil.move(first, tree)
    kw, library = tree / "bin" / "kw", tree / "lib" / "libkw.so"
    found = [f"no {path.relative_to(tree)}" for path in (kw, library) if not path.exists()]
    if found:
        return 1, found
    found += strangers(kw, tree) + strangers(library, tree)
    run(kw, "doctor", cwd=folder)

    headers = source_tree.files(tree, ["include"], source_tree.HEADER_SUFFIXES)
    answer = check_headers.compile_together("g++", tree, headers)  # alone: check_headers.py
    if answer:
        found.append(f"include: {answer}")

    run("cmake", "-S", root / "tests" / "install", "-B", folder / "consumer", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={tree}")
    run("cmake", "--build", folder / "consumer")
    run(folder / "consumer" / "consumer")
    return 3 + len(headers), found


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--build", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        answer = problems(arguments.root, arguments.build.resolve(), Path(name))
    source_tree.report("install", *answer)
