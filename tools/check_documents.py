#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md and docs/*.md show works. A line `<!-- complete -->` above a ```cpp block has it compiled,
and, where it has a main, linked with libkw.so and run. `<!-- run -->` above a ```console block runs its
`$ ` lines at the top of the repository, with the built kw first in PATH. Both must end with 0.
`<!-- executed -->` above a ```console block also compares: each command runs in a folder of the block's
own, must print the lines below it in this order, among others (`...` stands for anything within a line),
and must end with N where the next line is `[exit code N]`, else with 0. Links to files of the repository
must lead somewhere."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

import source_tree

BLOCK = re.compile(r"^<!-- (complete|run|executed) -->\n+```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")
LANGUAGE = {"complete": ("cpp",), "run": ("console", "sh", "bash"), "executed": ("console",)}
EXIT_CODE = re.compile(r"^\[exit code (\d+)\]$")
SECONDS = 300


def run(command, **options):
    """None, or why it failed."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False,
                                **options)
    except subprocess.TimeoutExpired:
        return f"still running after {SECONDS} s"
    output = (result.stdout + result.stderr).strip()
    return None if result.returncode == 0 else f"exit code {result.returncode}\n{output}"


def check_cpp(root, build, compiler, text, folder):
    source, program = folder / "snippet.cpp", folder / "snippet"
    source.write_text(text)
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{root / 'include'}"]
    if not re.search(r"\bint\s+main\s*\(", text):
        return run([compiler, *flags, "-fsyntax-only", source])
    return run([compiler, *flags, source, "-o", program, f"-L{build / 'lib'}", "-lkw",
                f"-Wl,-rpath,{build / 'lib'}"]) or run([program], cwd=root)


def check_console(root, build, text):
    commands = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
    if not commands:
        return "no line starts with `$ `"
    environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}")
    return run(["bash", "-euo", "pipefail", "-c", "\n".join(commands)], cwd=root, env=environment)


def matches(expected, line):
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in expected.split("..."))
    return re.fullmatch(pattern.replace(r"\ ", r"\s*"), " ".join(line.split())) is not None


def steps_of(text):
    """[(command, expected exit code, expected lines)]"""
    steps = []
    for line in text.splitlines():
        code = EXIT_CODE.match(line)
        if line.startswith("$ "):
            steps.append((line[2:], 0, []))
        elif not steps:
            raise ValueError(f"'{line}' stands before the first `$ `")
        elif code:
            steps[-1] = (steps[-1][0], int(code.group(1)), steps[-1][2])
        elif line.strip():
            steps[-1][2].append(line)
    if not steps:
        raise ValueError("no line starts with `$ `")
    return steps


def check_executed(build, text, folder):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KW_")}
    environment.update(PATH=f"{build / 'bin'}:{os.environ['PATH']}", KW_CACHE_DIR=str(folder / ".cache"))
    try:
        steps = steps_of(text)
    except ValueError as error:
        return str(error)
    for command, code, expected in steps:
        try:
            result = subprocess.run(["bash", "-uo", "pipefail", "-c", command], capture_output=True,
                                    text=True, timeout=SECONDS, check=False, cwd=folder, env=environment)
        except subprocess.TimeoutExpired:
            return f"`{command}` is still running after {SECONDS} s"
        output = result.stdout + result.stderr
        if result.returncode != code:
            return f"`{command}` ended with {result.returncode}, not {code}\n{output.strip()}"
        lines = iter(output.splitlines())
        for wanted in expected:
            if not any(matches(wanted, line) for line in lines):
                return f"`{command}` did not print '{wanted}' (in this order)\n{output.strip()}"
    return None


def problems(root, build, compiler="g++"):
    checked, found = 0, []
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/*.md"))]:
        if not page.is_file():
            continue
        text = source_tree.text_of(page)
        for match in LINK.finditer(text):
            checked += 1
            if not (page.parent / match.group(1)).exists():
                found.append(f"{page.relative_to(root)}: link to {match.group(1)}: no such file")
        for match in BLOCK.finditer(text):
            mark, language, body = match.groups()
            if (mark, language) == ("executed", "python"):
                continue  # by tests/python
            checked += 1
            where = f"{page.relative_to(root)}:{text.count(chr(10), 0, match.start(3)) + 1}"
            with tempfile.TemporaryDirectory() as folder:
                if language not in LANGUAGE[mark]:
                    why = f"`{mark}` is for {' or '.join(LANGUAGE[mark])}, not for {language}"
                elif mark == "complete":
                    why = check_cpp(root, build, compiler, body, Path(folder))
                elif mark == "executed":
                    why = check_executed(build, body, Path(folder))
                else:
                    why = check_console(root, build, body)
            if why:
                found.append(f"{where}: {why}")
    return checked, found


if __name__ == "__main__":
    parser = source_tree.parser(__doc__)
    parser.add_argument("--build", type=Path, required=True, help="build tree with bin/ and lib/")
    parser.add_argument("--compiler", default="g++")
    arguments = parser.parse_args()
    source_tree.report("documents", *problems(arguments.root, arguments.build.resolve(),
                                              arguments.compiler))
