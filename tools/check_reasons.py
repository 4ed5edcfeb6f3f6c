#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The closed list of reason codes promises nothing: some code of src/ beside the list gives each of them,
the documents say what each means, and the schema of reports has the same list."""

import json
import re

import source_tree

LIST = "src/suite/result.cpp"
SCHEMA = "src/suite/report.schema.json"
DOCUMENTS = ["docs/numerics.md", "docs/benchmarking.md"]


def codes(text):
    found = re.search(r'kNames\{"none",(.*?)\};', text, re.DOTALL)
    return re.findall(r'"(\w+)"', found.group(1)) if found else []


def enumerator(code):
    return "k" + "".join(part.capitalize() for part in code.split("_"))


def problems(root):
    path = root / LIST
    if not path.is_file():
        return 0, []
    listed, found = codes(source_tree.text_of(path)), []
    if not listed:
        return 0, [f"{LIST}: no list of names that begins with \"none\""]
    uses = set()
    for source in source_tree.files(root, ["src"], (".cpp",)):
        if source != path:
            uses |= set(re.findall(r"\bReason::(k\w+)", source_tree.text_of(source)))
    documents = "".join(source_tree.text_of(root / name) for name in DOCUMENTS)
    schema = json.loads(source_tree.text_of(root / SCHEMA))["$defs"]["reason_code"]["enum"]
    for code in listed:
        if enumerator(code) not in uses:
            found.append(f"{LIST}: '{code}' is a code that nothing gives")
        if f"`{code}`" not in documents:
            found.append(f"{LIST}: '{code}' is in none of {', '.join(DOCUMENTS)}")
    for code in sorted(set(listed) ^ set(schema)):
        found.append(f"{SCHEMA}: '{code}' is not in both lists")
    return len(listed), found


if __name__ == "__main__":
    source_tree.report("reasons", *problems(source_tree.parser(__doc__).parse_args().root))
