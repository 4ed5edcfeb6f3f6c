#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy 14 with .clang-tidy over the sources of src/ and examples/. What passed with the same
contents is not looked at again."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import source_tree


def tool():
    found = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not found:
        raise SystemExit("clang-tidy 14 is missing: tools/setup.sh check")
    return found


def lint(command, build, path):
    """None, or the findings."""
    # The flags are g++'s, and -Werror (CI) would make errors of those that clang does not know.
    result = subprocess.run([command, "--quiet", f"-p={build}", "--extra-arg=-Wno-error", str(path)],
                            capture_output=True, text=True, check=False)
    return result.stdout.strip() or result.stderr.strip() if result.returncode else None


def problems(root, build):
    commands = {Path(entry["file"]): entry["command"]
                for entry in json.loads((build / "compile_commands.json").read_text())}
    paths = [path for path in source_tree.files(root, ["src", "examples"], (".cpp",))
             if path in commands]
    command, passed = tool(), source_tree.PassedBefore(build / ".cache" / "lint.json")
    rules = source_tree.digest(root / ".clang-tidy", command)
    keys = {path: source_tree.digest(rules, re.sub(r"\s-o\s.*", "", commands[path]),
                                     *sorted(source_tree.closure(root, path))) for path in paths}
    work = [path for path in paths if keys[path] not in passed]
    print(f"lint: {len(work)} of {len(paths)} sources changed", flush=True)
    found = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, answer in zip(work, pool.map(lambda path: lint(command, build, path), work)):
            if answer is None:
                passed.add(keys[path])
            else:
                found.append(answer)
    passed.save()
    return len(paths), found


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--build", type=Path, required=True,
                        help="build tree with compile_commands.json")
    arguments = parser.parse_args()
    source_tree.report("lint", *problems(arguments.root, arguments.build.resolve()))
