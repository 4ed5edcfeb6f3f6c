# SPDX-License-Identifier: Apache-2.0
"""Python blocks of README.md and docs/ that follow `<!-- executed -->` run as they stand, as
does the newcomer's script."""

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


def test_newcomer(run):
    out = run((ROOT / "examples" / "newcomer.py").read_text())
    assert "OpSlot(rms_norm/standard -> cpu." in out
    assert "explain: cpu.native.rms_norm" in out and "numpy: [" in out
    assert "PyTorch: torch.Size([2, 8]) True" in out
