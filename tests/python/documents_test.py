# SPDX-License-Identifier: Apache-2.0
"""Python blocks of README.md and docs/ that follow `<!-- executed -->` run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = [(path.name, block)
          for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
          for block in re.findall(r"<!-- executed -->\n```python\n(.*?)```", path.read_text(), re.S)]


def test_there_are_blocks():
    assert {name for name, _ in BLOCKS} == {"README.md", "python.md"}


@pytest.mark.parametrize("name, block", BLOCKS, ids=[name for name, _ in BLOCKS])
def test_block(run, name, block):
    assert "OpSlot(" in run(block)
