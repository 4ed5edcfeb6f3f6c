# SPDX-License-Identifier: Apache-2.0
"""lint.py finds what .clang-tidy is for and looks twice only at changes. Skipped without clang-tidy."""

import json
import shutil
import unittest

import planted
import lint
import source_tree


@unittest.skipUnless(shutil.which("clang-tidy-14") or shutil.which("clang-tidy"),
                     "no clang-tidy: tools/setup.sh check installs it")
class Lint(planted.PlantedTree):
    def test_find_and_remember(self):
        shutil.copy(source_tree.ROOT / ".clang-tidy", self.root)
        bad = self.plant("src/core/a.cpp", "struct plan { int* p = 0; };\n")
        good = self.plant("src/core/b.cpp", "struct Plan { int* p = nullptr; };\n")
        build = self.root / "build"
        self.plant("build/compile_commands.json", json.dumps(
            [{"directory": str(self.root), "file": str(path), "command": f"c++ -std=c++20 -c {path}"}
             for path in (bad, good)]))
        checked, found = lint.problems(self.root, build)
        self.assertEqual(checked, 2)
        self.assert_finds(found, "modernize-use-nullptr")
        self.assertIn("invalid case style for struct 'plan'", found[0])
        commands, run = [], lint.lint
        lint.lint = lambda command, build, path: commands.append(path)
        self.addCleanup(setattr, lint, "lint", run)
        lint.problems(self.root, build)
        self.assertEqual(commands, [bad])


if __name__ == "__main__":
    unittest.main()
