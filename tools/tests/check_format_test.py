# SPDX-License-Identifier: Apache-2.0
"""check_format.py finds a source out of shape and --fix mends it. Skipped without clang-format."""

import shutil
import unittest

import planted
import check_format
import source_tree


@unittest.skipUnless(shutil.which("clang-format-14") or shutil.which("clang-format"),
                     "no clang-format: tools/setup.sh check installs it")
class CheckFormat(planted.PlantedTree):
    def test_find_and_fix(self):
        shutil.copy(source_tree.ROOT / ".clang-format", self.root)
        path = self.plant("src/core/a.cpp", "int  *x ;\n")
        self.plant("src/core/b.cpp", "int* y;\n")
        self.assert_finds(check_format.problems(self.root)[1], "src/core/a.cpp: run `make format`")
        self.assert_finds(check_format.problems(self.root, fix=True)[1])
        self.assertEqual(path.read_text(), "int* x;\n")
        self.assert_finds(check_format.problems(self.root)[1])


if __name__ == "__main__":
    unittest.main()
