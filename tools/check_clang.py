#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source of src/ and examples/ passes the front end of clang++ (14 on Debian 12), which refuses some
of what g++ takes: whoever builds with it, as `make tsan` does, shall be able to. Headers of others are read
from one compiled header, which takes a third to two thirds off; what a source fails to include, g++ says."""

import functools
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from pathlib import Path

import source_tree

# Warnings are g++'s. Without the last each source would instantiate again what the compiled header uses.
FLAGS = ["-std=c++20", "-fPIC", "-fopenmp", "-w", "-fpch-instantiate-templates"]
OFTEN = 30  # sources that include a header of others, for it to be in the compiled one


def definitions(commands):
    """Definitions and include paths of all sources: a compiled header is for one set of them."""
    found = {}
    for command in commands:
        words = iter(shlex.split(command))
        for word in words:
            if word == "-isystem":
                found[f"{word}{next(words)}"] = None
            elif word.startswith(("-D", "-I")) and not word.endswith("_EXPORTS"):
                found[word] = None
    return list(found)


def often_included(closures):
    counts = Counter()
    for files in closures:
        counts.update({name for each in files for _, name, quoted in source_tree.includes(each) if not quoted})
    return sorted(name for name, count in counts.items() if count >= OFTEN)


def compiled_header(compiler, flags, names, folder):
    """Flags that read `names` from a compiled header."""
    source, compiled = folder / "others.hpp", folder / "others.pch"
    source.write_text("".join(f"#include <{name}>\n" for name in names))
    subprocess.run([compiler, *flags, "-x", "c++-header", source, "-o", compiled], check=True)
    return ["-include-pch", str(compiled)]


def refuse(compiler, flags, path):
    """None, or what the compiler says."""
    result = subprocess.run([compiler, *flags, "-fsyntax-only", path], capture_output=True, text=True,
                            check=False)
    return None if result.returncode == 0 else result.stderr.strip()


def problems(root, build, compiler):
    commands = source_tree.compiled_sources(root, build)
    closures = {path: sorted(source_tree.closure(root, path)) for path in commands}
    flags, names = FLAGS + definitions(commands.values()), often_included(closures.values())
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    about = source_tree.digest(version, *flags, *names)
    keys = {path: source_tree.digest(about, str(path), *files) for path, files in closures.items()}
    with tempfile.TemporaryDirectory() as folder:
        @functools.cache
        def all_flags():  # compiled when the first source is looked at
            return flags + compiled_header(compiler, flags, names, Path(folder))
        lock = threading.Lock()

        def check(path):
            with lock:
                ready = all_flags()
            return refuse(compiler, ready, path)
        return len(keys), source_tree.look(keys, check, build / ".cache" / "clang.json")


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--build", type=Path, required=True, help="build tree with compile_commands.json")
    arguments = parser.parse_args()
    clang = shutil.which("clang++") or shutil.which("clang++-14")
    if not clang:
        raise SystemExit("clang++ is missing: tools/setup.sh check")
    source_tree.report("clang", *problems(arguments.root, arguments.build.resolve(), clang))
