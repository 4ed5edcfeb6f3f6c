# SPDX-License-Identifier: Apache-2.0
"""Planted trees: a check is worth its time only if it fails on the mistake that it is for."""

import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


class PlantedTree(unittest.TestCase):
    """A test with a temporary tree, `self.root`."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.root = Path(self._folder.name)

    def plant(self, name, text=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def plant_header(self, name, text=""):
        return self.plant(name, "// SPDX-License-Identifier: Apache-2.0\n// A header.\n#pragma once\n\n"
                          + textwrap.dedent(text))

    def assert_finds(self, found, *texts):
        """Exactly one finding per text, in any order, and each contains its text."""
        self.assertEqual(len(found), len(texts), "\n".join(found))
        for text in texts:
            self.assertTrue(any(text in finding for finding in found), f"{text!r} not in {found}")
