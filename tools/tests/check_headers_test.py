# SPDX-License-Identifier: Apache-2.0
"""check_headers.py fails on a header that leans on its includer, and remembers what passed."""

import unittest

import planted
import check_headers


class CheckHeaders(planted.PlantedTree):
    def setUp(self):
        super().setUp()
        (self.root / "include" / "kernelwright").mkdir(parents=True)
        (self.root / "src" / "base").mkdir(parents=True)
        (self.root / "include" / "kernelwright" / "base").symlink_to("../../src/base")

    def find(self):
        return check_headers.problems(self.root, ["g++"])[1]

    def test_self_contained(self):
        self.plant_header("src/base/a.hpp", "#include <string>\ninline std::string text;\n")
        self.plant_header("src/base/b.hpp", '#include "kernelwright/base/a.hpp"\n')
        self.assertEqual(check_headers.problems(self.root, ["g++"]), (2, []))

    def test_missing_include(self):
        self.plant_header("src/base/a.hpp", "inline std::string text;\n")
        self.assert_finds(self.find(), "src/base/a.hpp: g++ alone")

    def test_missing_guard(self):
        self.plant("src/base/a.hpp", "struct Twice {};\n")
        self.assert_finds(self.find(), "redefinition")

    def test_memory_forgets_a_changed_dependency(self):
        cache = self.root / "cache.json"
        self.plant_header("src/base/a.hpp", "struct A {};\n")
        self.plant_header("src/base/b.hpp", '#include "kernelwright/base/a.hpp"\ninline A value;\n')
        self.assertEqual(check_headers.problems(self.root, ["g++"], cache)[1], [])
        compile_alone, calls = check_headers.compile_alone, []
        check_headers.compile_alone = lambda *arguments: calls.append(arguments)
        self.addCleanup(setattr, check_headers, "compile_alone", compile_alone)
        check_headers.problems(self.root, ["g++"], cache)
        self.assertEqual(calls, [], "nothing changed, and yet something was compiled")
        self.plant_header("src/base/a.hpp", "struct Renamed {};\n")
        check_headers.problems(self.root, ["g++"], cache)
        self.assertEqual([call[2].name for call in calls], ["a.hpp", "b.hpp"])


if __name__ == "__main__":
    unittest.main()
