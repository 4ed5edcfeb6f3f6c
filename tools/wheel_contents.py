#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a wheel of kernelwright must hold, and must not: `tools/wheel_contents.py WHEEL`. One wheel
serves every Python, so no library may refer to CPython; it runs where DESIGN 6 says (glibc 2.34), which
its tag says too, and brings what such a system may lack."""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import check_symbol_floor

NEEDED = ["kernelwright/__main__.py", "kernelwright/lib/libkw.so", "kernelwright/lib/libkw_ffi.so",
          "kernelwright/lib/libkw_cli.so", "kernelwright/include/kernelwright/kw.h",
          "kernelwright/include/kernelwright/core/slot.hpp",
          "kernelwright/share/kernelwright/configs/auto.yaml"]
# Of a system of that tag (PEP 600's profile has more), and of the package apache-tvm-ffi.
SYSTEM = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6",
          "libpthread.so.0", "librt.so.1", "libstdc++.so.6"}
IMPORTED_BEFORE = {"libkw_ffi.so": {"libtvm_ffi.so"}}
TAG = "py3-none-manylinux_{}_{}_x86_64".format(*check_symbol_floor.FLOORS["GLIBC"])


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def of_library(name, path, bundled):
    """Findings in one shared library."""
    found = check_symbol_floor.too_new(name, symbols := said("objdump", "-T", path))
    cpython = sorted(set(re.findall(r"\*UND\*.* (_?Py[A-Z_]\w*)", symbols)))
    if cpython:
        found.append(f"{name} refers to CPython: {', '.join(cpython[:5])}")
    dynamic = said("objdump", "-p", path)
    needed = set(re.findall(r"^\s*NEEDED\s+(\S+)", dynamic, re.MULTILINE))
    outside = needed - bundled - SYSTEM - IMPORTED_BEFORE.get(Path(name).name, set())
    found += [f"{name} needs {each}, which is not in the wheel, nor on every system of its tag"
              for each in sorted(outside)]
    paths = set(re.findall(r"^\s*(?:RUNPATH|RPATH)\s+(\S+)", dynamic, re.MULTILINE))
    if needed & bundled and paths != {"$ORIGIN"}:
        found.append(f"{name} looks for libraries in {', '.join(sorted(paths)) or 'no folder of its own'}; "
                     f"$ORIGIN is where they are")
    return found


def problems(wheel):
    found = []
    tag = "-".join(wheel.stem.split("-")[2:])
    if tag != TAG:
        found.append(f"the tag is {tag}; what tools/wheel.sh makes is {TAG}")
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        names = archive.namelist()
        found += [f"lacks {name}" for name in NEEDED if name not in names]
        points = next((name for name in names if name.endswith("/entry_points.txt")), None)
        if points is None or "kw = kernelwright.__main__:main" not in archive.read(points).decode():
            found.append("lacks the console command kw")
        if b"cuda_body.cuh" not in archive.read("kernelwright/lib/libkw.so"):
            found.append("libkw.so has no embedded kernels")
        if not any("/ops/" in name and name.endswith(".py") for name in names):
            found.append("lacks the implementations in Python")
        libraries = [name for name in names if ".so" in Path(name).name]
        bundled, contents = {Path(name).name for name in libraries}, {}
        for name in libraries:
            twin = contents.setdefault(archive.read(name), name)
            if twin != name:
                found.append(f"{name} is {twin} again")
            found += of_library(name, archive.extract(name, folder), bundled)
    return len(libraries), found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = Path(sys.argv[1])
    count, found = problems(wheel)
    for each in found:
        print(f"wheel: {each}", file=sys.stderr)
    print(f"wheel: {wheel.name}, {wheel.stat().st_size} bytes, {count} libraries")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
