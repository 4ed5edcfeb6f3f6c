# SPDX-License-Identifier: Apache-2.0
"""check_operations.py fails on what would raise the cost of an operation."""

import unittest

import planted
import check_operations


class CheckOperations(planted.PlantedTree):
    def setUp(self):
        super().setUp()
        for name in ("contract.hpp", "contract.cpp", "reference.cpp", "suite.yaml", "native_body.hpp"):
            self.plant(f"src/ops/rms_norm/{name}")

    def find(self, catalog="  rms_norm::add(catalog);\n", cmake="kw_add_operation(rms_norm)\n"):
        self.plant("src/ops/catalog.cpp", catalog)
        self.plant("src/ops/CMakeLists.txt", cmake)
        return check_operations.problems(self.root)[1]

    def test_good(self):
        self.assert_finds(self.find('#include "kernelwright/ops/rms_norm/contract.hpp"\n'
                                    "  rms_norm::add(catalog);  // rms_norm\n"))

    def test_foreign_file(self):
        self.plant("src/ops/rms_norm/fast_path.cpp")
        self.assert_finds(self.find(), "rms_norm/fast_path.cpp: not one of the names")

    def test_missing_file(self):
        (self.root / "src/ops/rms_norm/suite.yaml").unlink()
        self.assert_finds(self.find(), "lacks suite.yaml")

    def test_not_in_catalog(self):
        self.assert_finds(self.find(catalog="  rms_norm_gated::add(catalog);\n"), "on 0 lines")

    def test_twice_in_catalog(self):
        self.assert_finds(self.find(catalog="rms_norm::a();\nrms_norm::b();\n"), "on 2 lines")

    def test_not_in_cmake(self):
        self.assert_finds(self.find(cmake="# kw_add_operation(rms_norm)\n"), "CMakeLists.txt: names")


if __name__ == "__main__":
    unittest.main()
