# SPDX-License-Identifier: Apache-2.0
"""check_operator_names.py finds a name in either spelling, and no word that only resembles it."""

import unittest

import planted
import check_operator_names


class CheckOperatorNames(planted.PlantedTree):
    def find(self, text, name="src/core/a.cpp"):
        self.plant("src/ops/rms_norm/contract.hpp")
        self.plant(name, text)
        return check_operator_names.problems(self.root)[1]

    def test_snake_case(self):
        self.assert_finds(self.find('const char* kName = "rms_norm";\n'), "src/core/a.cpp:1")

    def test_longer_name(self):
        self.assert_finds(self.find("int x;\nauto y = rms_norm_backward;\n"), "src/core/a.cpp:2")

    def test_pascal_case(self):
        self.assert_finds(self.find("struct RmsNormArgs;\n"), "'RmsNorm'")

    def test_comment(self):
        self.assert_finds(self.find("// as rms_norm does\n"), "'rms_norm'")

    def test_python(self):
        self.assert_finds(self.find("def rms_norm(): pass\n", "python/kernelwright/a.py"), "python/")

    def test_other_words(self):
        self.assert_finds(self.find("double norm = rms; int forms_normal; // RmsNormal\n"))

    def test_other_folders(self):
        self.assert_finds(self.find("rms_norm\n", "src/backend/cpu/a.cpp"))

    def test_allowed_with_a_reason(self):
        self.plant("tools/allowed.txt", "operator_names src/core/a.cpp data that nothing serves yet\n")
        self.assert_finds(self.find("rms_norm\n"))

    def test_allowed_without_a_reason(self):
        self.plant("tools/allowed.txt", "operator_names src/core/a.cpp\n")
        with self.assertRaises(SystemExit):
            self.find("rms_norm\n")


if __name__ == "__main__":
    unittest.main()
