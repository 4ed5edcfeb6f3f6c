#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of an operation is one folder of fixed file names, one catalog line and one CMake line."""

import re

import source_tree

VENDORS = ["cublaslt", "cudnn", "onednn"]
PYTHON = ["liger_kernel", "fla", "torch", "triton"]  # implementations that are Python callables
NAMES = {"contract.hpp", "contract.cpp", "cfg.hpp", "reference.cpp", "native.cpp", "native_kernels.cpp", "native_kernels.hpp", "native_plan.hpp",
         "cuda.cpp", "cuda_geometry.hpp", "cuda_layout.hpp", "composed.cpp", "suite.yaml", "tuning.cpp", "tuning.json",
         *(f"{vendor}.cpp" for vendor in VENDORS), *(f"{solution}.py" for solution in PYTHON)}
# One body an implementation, or several, each with a word that says which kernels.
BODY = re.compile(r"native(_[a-z]+)?_body\.hpp|cuda(_[a-z]+)?_body\.cuh")
NEEDED = {"contract.hpp", "contract.cpp", "reference.cpp", "suite.yaml"}
COMMENT = re.compile(r"//.*")


def lines_that_name(path, operation):
    """Lines of code, includes apart, that name the operation itself and not a longer name."""
    word = re.compile(rf"(?<![a-z0-9_]){operation}(?![a-z0-9_])")
    text = source_tree.text_of(path) if path.is_file() else ""
    code = (re.sub(r"#(?!include\b).*" if path.name == "CMakeLists.txt" else COMMENT, "", line)
            for line in text.splitlines())
    return sum(1 for line in code if word.search(line) and not line.startswith("#include"))


def problems(root):
    ops = root / "src" / "ops"
    folders = sorted(path for path in ops.iterdir() if path.is_dir()) if ops.is_dir() else []
    found = []
    for folder in folders:
        there = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
        for name in sorted(name for name in there - NAMES if not BODY.fullmatch(name)):
            found.append(f"src/ops/{folder.name}/{name}: not one of the names of DESIGN 3: "
                         f"{', '.join(sorted(NAMES))}, {BODY.pattern}")
        for name in sorted(NEEDED - there):
            found.append(f"src/ops/{folder.name}: lacks {name}")
        for listing in ("catalog.cpp", "CMakeLists.txt"):
            count = lines_that_name(ops / listing, folder.name)
            if count != 1:
                found.append(f"src/ops/{listing}: names {folder.name} on {count} lines, not on one")
    return len(folders), found


if __name__ == "__main__":
    source_tree.report("operations", *problems(source_tree.parser(__doc__).parse_args().root))
