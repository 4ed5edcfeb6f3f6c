# SPDX-License-Identifier: Apache-2.0
"""check_compile_fail.py accepts only a source that fails for the reason that it names."""

import unittest

import planted
import check_compile_fail


class CheckCompileFail(planted.PlantedTree):
    def problem(self, text):
        return check_compile_fail.problem(self.root, "g++", self.plant("a.cpp", text))

    def test_fails_as_expected(self):
        self.assertIsNone(self.problem('// expect: too wide\nstatic_assert(false, "too wide");\n'))

    def test_fails_otherwise(self):
        self.assertIn("without saying", self.problem("// expect: too wide\nint x = gone;\n"))

    def test_compiles(self):
        self.assertEqual(self.problem("// expect: too wide\nint x;\n"), "compiles")

    def test_expects_nothing(self):
        self.assertIn("no line", self.problem("int x = gone;\n"))

    def test_contrast(self):
        text = "// expect: gone\n#ifdef KW_COMPILES\nint gone;\n#endif\nint x = gone;\n"
        self.assertIsNone(self.problem(text))
        self.assertIn("either", self.problem(text + "int y = gone_too;\n"))


if __name__ == "__main__":
    unittest.main()
