# SPDX-License-Identifier: Apache-2.0
"""The repository as the checks see it: its files, their include graph, and how a check reports."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CXX_SUFFIXES = (".hpp", ".h", ".cpp", ".cuh", ".cu")
HEADER_SUFFIXES = (".hpp", ".h")

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


@functools.cache
def text_of(path):
    return path.read_text(encoding="utf-8")


def files(root, folders, suffixes):
    """Files below root/<folder>, sorted. Links (include/kernelwright/<layer>) are not followed."""
    found = []
    for folder in folders:
        for path in (root / folder).rglob("*"):
            if path.suffix in suffixes and path.is_file() and not path.is_symlink():
                if "__pycache__" not in path.parts:
                    found.append(path)
    return sorted(found)


@functools.cache
def includes(path):
    """[(line, name, is_quoted)] of every include directive, taken or not."""
    text = text_of(path)
    return [(text.count("\n", 0, match.start()) + 1, match.group(2), match.group(1) == '"')
            for match in _INCLUDE.finditer(text)]


def resolve(root, name, includer):
    """The project file that a quoted include names, or None. Only tests name their neighbours."""
    candidates = [root / "tests" / name, root / "examples" / name]
    if includer.is_relative_to(root / "tests"):
        candidates.insert(0, includer.parent / name)
    if name.startswith("kernelwright/"):
        rest = name.removeprefix("kernelwright/")
        candidates = [root / "src" / rest, root / "include" / "kernelwright" / rest]
    return next((path for path in candidates if path.is_file()), None)


def closure(root, path):
    """`path` and every project file that it includes, directly or not."""
    seen, pending = set(), [path]
    while pending:
        current = pending.pop()
        if current not in seen:
            seen.add(current)
            targets = (resolve(root, name, current) for _, name, quoted in includes(current) if quoted)
            pending.extend(target for target in targets if target)
    return seen


def digest(*parts):
    """sha256 over texts and the contents of paths; a stable key for PassedBefore."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()


class PassedBefore:
    """Keys of what has passed, kept in one file of a build tree, so that a rerun checks changes."""

    def __init__(self, file):
        self._file = file
        self._now = set()
        try:
            self._before = set(json.loads(file.read_text())) if file else set()
        except (OSError, ValueError):
            self._before = set()

    def __contains__(self, key):
        if key in self._before:
            self._now.add(key)
        return key in self._before

    def add(self, key):
        self._now.add(key)

    def save(self):
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(sorted(self._now)))


def compiled_sources(root, build):
    """{path: command} of the sources of src/ and examples/ that a build tree compiles."""
    commands = {Path(entry["file"]): entry["command"]
                for entry in json.loads((build / "compile_commands.json").read_text())}
    return {path: commands[path] for path in files(root, ["src", "examples"], (".cpp",))
            if path in commands}


def look(keys, check, cache_file, jobs=None):
    """What `check` finds in each item of `keys` (item -> its key) that has not passed with that key. It is
    given an item and returns None when there is nothing."""
    passed, found = PassedBefore(cache_file), []
    work = [item for item in keys if keys[item] not in passed]
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        for item, answer in zip(work, pool.map(check, work)):
            if answer is None:
                passed.add(keys[item])
            else:
                found.append(answer)
    passed.save()
    return found


def allowed(root, check):
    """{path: reason} of tools/allowed.txt: lines `<check> <path> <reason>`."""
    entries, file = {}, root / "tools" / "allowed.txt"
    for line in file.read_text().splitlines() if file.is_file() else ():
        fields = line.split(maxsplit=2)
        if fields and not line.startswith("#") and fields[0] == check:
            if len(fields) < 3:
                raise SystemExit(f"{file}: '{line}' gives no reason")
            entries[fields[1]] = fields[2]
    return entries


def parser(description):
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--root", type=lambda text: Path(text).resolve(), default=ROOT)
    return result


def report(check, checked, problems):
    """Prints the problems, or one line of success, and exits. Nothing checked is a failure too."""
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{check}: {len(problems)} problem{'s' if len(problems) != 1 else ''}")
    if not checked:
        sys.exit(f"{check}: found nothing to check")
    print(f"{check}: {checked} checked")
