#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a wheel of kernelwright must hold, and must not: `tools/wheel_contents.py WHEEL`. One wheel
serves every Python, so no library may refer to CPython; it runs where DESIGN 6 says (glibc 2.34)."""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NEEDED = ["kernelwright/__main__.py", "kernelwright/lib/libkw.so", "kernelwright/lib/libkw_ffi.so",
          "kernelwright/lib/libkw_cli.so", "kernelwright/include/kernelwright/kw.h",
          "kernelwright/include/kernelwright/core/slot.hpp",
          "kernelwright/share/kernelwright/configs/auto.yaml"]
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29)}
# Third-party libraries are the distribution's builds, which ask for what its own glibc has.
OWN = re.compile(r"libkw\w*\.so$")


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def too_new(symbols):
    for kind, text in re.findall(r"\b(GLIBC|GLIBCXX)_([0-9.]+)", symbols):
        if tuple(map(int, text.split("."))) > NEWEST[kind]:
            yield f"{kind}_{text}"


def problems(wheel):
    found = []
    tag = "-".join(wheel.stem.split("-")[2:])
    if not re.fullmatch(r"py3-none-(many)?linux\w*", tag):
        found.append(f"the tag is {tag}; without a symbol of CPython it is py3-none-linux_*")
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
        contents = {}
        for name in libraries:
            path = archive.extract(name, folder)
            twin = contents.setdefault(archive.read(name), name)
            if twin != name:
                found.append(f"{name} is {twin} again")
            symbols = said("objdump", "-T", path)
            cpython = sorted(set(re.findall(r"\*UND\*.* (_?Py[A-Z_]\w*)", symbols)))
            if cpython:
                found.append(f"{name} refers to CPython: {', '.join(cpython[:5])}")
            if OWN.search(name):
                found += [f"{name} needs {each}" for each in sorted(set(too_new(symbols)))]
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
