#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of kw against the JSON Schema that is shipped with them: check_report.py FILE... Names what is
wrong, by place, and ends with 1."""

import json
import sys
from pathlib import Path

import jsonschema

SCHEMA = Path(__file__).resolve().parent.parent / "src" / "suite" / "report.schema.json"
MOST = 10  # findings of one report


def problems(report, schema):
    errors = jsonschema.Draft202012Validator(schema).iter_errors(report)
    found = sorted(("/".join(str(step) for step in error.absolute_path) or "top", error.message)
                   for error in errors)
    return [f"{place}: {message[:300]}" for place, message in found]


def main():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    bad = False
    for name in sys.argv[1:]:
        found = problems(json.loads(Path(name).read_text(encoding="utf-8")), schema)
        for problem in found[:MOST]:
            print(f"{name}: {problem}")
        bad |= bool(found)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
