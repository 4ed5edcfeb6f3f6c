#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make check`: format, lint and the scripts over the tree, all of them, whatever the first ones say."""

import subprocess
import sys
import time
from pathlib import Path

import source_tree

CHECKS = [["check_layers.py"], ["check_operations.py"], ["check_operator_names.py"],
          ["check_reasons.py"], ["check_file_sizes.py"], ["check_style.py"], ["check_format.py"],
          ["check_headers.py", "--cache", "{build}/.cache/headers.json", "--build", "{build}"],
          ["check_clang.py", "--build", "{build}"], ["lint.py", "--build", "{build}"]]


def main():
    parser = source_tree.parser(__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--skip-lint", action="store_true", help="leave clang-tidy out (2 s a file)")
    arguments = parser.parse_args()
    failed = []
    for script, *options in CHECKS:
        if arguments.skip_lint and script == "lint.py":
            continue
        start = time.monotonic()
        command = [sys.executable, source_tree.ROOT / "tools" / script, "--root", arguments.root]
        command += [option.format(build=arguments.build) for option in options]
        if subprocess.run(command, check=False).returncode:
            failed.append(script)
        seconds = time.monotonic() - start
        if seconds > 5:
            print(f"  ({seconds:.0f} s)", flush=True)
    if failed:
        sys.exit(f"make check: failed: {', '.join(failed)}")
    print("make check: all passed")


if __name__ == "__main__":
    main()
