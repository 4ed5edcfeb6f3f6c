# SPDX-License-Identifier: Apache-2.0
"""check_clang.py finds what clang++ 14 refuses and g++ takes, with and without its compiled header, and
looks twice only at changes. Skipped without clang++."""

import json
import shutil
import subprocess
import unittest

import planted
import check_clang

CLANG = shutil.which("clang++")
# A structured binding in a lambda.
REFUSED = '#include <utility>\nint f(std::pair<int, int> p) { auto [a, b] = p; return [&] { return a + b; }(); }\n'


@unittest.skipUnless(CLANG, "no clang++: tools/setup.sh check installs it")
class CheckClang(planted.PlantedTree):
    def find(self, **sources):
        paths = [self.plant(f"src/core/{name}.cpp", text) for name, text in sources.items()]
        build = self.plant("build/compile_commands.json", json.dumps(
            [{"file": str(path), "command": f"c++ -DNAME=3 -I{self.root}/src -c {path}"} for path in paths]))
        return check_clang.problems(self.root, build.parent, CLANG)

    def test_refused(self):
        if "version 14" not in subprocess.run([CLANG, "--version"], capture_output=True, text=True,
                                              check=True).stdout:
            self.skipTest("later ones take it")
        checked, found = self.find(a=REFUSED, b="int three = NAME;\n")
        self.assertEqual(checked, 2)
        self.assert_finds(found, "a.cpp:2")

    def test_with_the_compiled_header(self):
        self.plant_header("src/core/used.hpp", "#include <string>\ninline std::string used() { return {}; }\n")
        self.addCleanup(setattr, check_clang, "OFTEN", check_clang.OFTEN)
        check_clang.OFTEN = 2
        good = {f"good{n}": '#include "core/used.hpp"\n#include <vector>\nstd::vector<int> v;\n'
                for n in range(5)}
        compiled, compiled_header = [], check_clang.compiled_header
        check_clang.compiled_header = lambda *arguments: compiled.append(arguments[2]) or \
            compiled_header(*arguments)
        self.addCleanup(setattr, check_clang, "compiled_header", compiled_header)
        checked, found = self.find(**good, bad="int f() { return undefined; }\n")
        self.assertEqual(checked, 6)
        self.assert_finds(found, "undeclared identifier 'undefined'")
        self.assertIn("vector", compiled[0])

    def test_looks_twice_only_at_changes(self):
        self.find(a="int a;\n", b="int broken( {\n")
        looked, refuse = [], check_clang.refuse
        check_clang.refuse = lambda compiler, flags, path: looked.append(path.name)
        self.addCleanup(setattr, check_clang, "refuse", refuse)
        self.find(a="int a;\n", b="int broken( {\n")
        self.assertEqual(looked, ["b.cpp"])


if __name__ == "__main__":
    unittest.main()
