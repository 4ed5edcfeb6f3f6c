# SPDX-License-Identifier: Apache-2.0
"""check_file_sizes.py: the limits bite one line past them, and only there."""

import unittest

import planted
import check_file_sizes


class CheckFileSizes(planted.PlantedTree):
    def find(self):
        return check_file_sizes.problems(self.root)[1]

    def test_limits(self):
        self.plant("src/core/a.cpp", "\n" * 500)
        self.plant("src/ops/x/native_body.hpp", "\n" * 800)
        self.plant("README.md", "\n" * 150)
        self.assert_finds(self.find())

    def test_one_line_more(self):
        self.plant("src/core/a.cpp", "\n" * 501)
        self.plant("src/ops/x/native_body.hpp", "\n" * 801)
        self.plant("tools/a.py", "\n" * 501)
        self.plant("README.md", "\n" * 151)
        self.assert_finds(self.find(), "a.cpp: 501 lines, limit 500", "801 lines, limit 800",
                          "tools/a.py", "README.md: 151 lines")

    def test_allowed(self):
        self.plant("src/core/a.cpp", "\n" * 501)
        self.plant("tools/allowed.txt", "file_sizes src/core/a.cpp a table of constants\n")
        self.assert_finds(self.find())

    def test_macro_budget(self):
        self.plant("src/core/a.hpp", "#define KW_A\n#define KW_B\n")
        self.assert_finds(self.find())
        self.plant("src/core/b.hpp", "#define KW_C\n")
        self.assert_finds(self.find(), "3 macros in 3 lines, budget 2")

    def test_macro_prefix(self):
        self.plant("src/core/a.hpp", "#define CHECK(x)\n#define HWY_TARGET_INCLUDE \"x\"\n")
        self.assert_finds(self.find(), "macro CHECK lacks the prefix")


if __name__ == "__main__":
    unittest.main()
