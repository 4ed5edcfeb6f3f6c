#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No layer below or beside the operations knows one by name: neither code nor comment of these folders
spells the name of a folder of src/ops, in snake_case or in PascalCase."""

import re

import source_tree

FOLDERS = ["src/base", "src/core", "src/runtime", "src/jit", "src/suite", "src/tune", "src/capi",
           "src/ffi", "src/cli", "python"]
SUFFIXES = source_tree.CXX_SUFFIXES + (".py", ".pyi", ".in", ".txt")


def operations(root):
    folder = root / "src" / "ops"
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def pattern(names):
    spellings = []
    for name in names:
        pascal = "".join(part.capitalize() for part in name.split("_"))
        # `rms_norm_backward` and `kw_rms_norm` count, `norms` and `abnormal` do not.
        spellings += [rf"(?<![a-zA-Z]){name}(?![a-z])", rf"(?<![A-Z]){pascal}(?![a-z])"]
    return re.compile("|".join(spellings))


def problems(root):
    names = operations(root)
    exempt = source_tree.allowed(root, "operator_names")
    if not names:
        return 0, []
    checked, found, expression = 0, [], pattern(names)
    for path in source_tree.files(root, FOLDERS, SUFFIXES):
        checked += 1
        relative = str(path.relative_to(root))
        if relative in exempt:
            continue
        for number, line in enumerate(source_tree.text_of(path).splitlines(), 1):
            match = expression.search(line)
            if match:
                found.append(f"{relative}:{number}: names the operator '{match.group()}'")
    return checked, found


if __name__ == "__main__":
    source_tree.report("operator names", *problems(source_tree.parser(__doc__).parse_args().root))
