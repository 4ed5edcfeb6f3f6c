# SPDX-License-Identifier: Apache-2.0
"""check_headers.py fails on a header that leans on its includer, and remembers what passed."""

import json
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

    def left_to_the_build(self, sources, *compilers):
        """Names of the headers that nothing compiles alone here, with these sources in a build tree."""
        paths = [self.plant(name, text) for name, text in sources.items()]
        build = self.plant("build/compile_commands.json",
                           json.dumps([{"file": str(path)} for path in paths])).parent
        compiled, compile_alone = [], check_headers.compile_alone
        check_headers.compile_alone = lambda compiler, root, path: compiled.append((compiler, path.name))
        self.addCleanup(setattr, check_headers, "compile_alone", compile_alone)
        check_headers.problems(self.root, compilers, build=build)
        return [each for each in ((c, p.name) for c in compilers for p in (self.root / "src").rglob("*.hpp"))
                if each not in compiled]

    def test_what_a_source_includes_first_is_left_to_it(self):
        self.plant_header("src/base/a.hpp", "inline std::string text;\n")
        comment = "// SPDX-License-Identifier: Apache-2.0\n\n"
        include = '#include "kernelwright/base/a.hpp"\n'
        first = {"src/base/a.cpp": comment + include}
        self.assertEqual(self.left_to_the_build(first, "g++", "clang++"),
                         [("g++", "a.hpp"), ("clang++", "a.hpp")])
        # check_clang.py does not look at tests.
        self.assertEqual(self.left_to_the_build({"tests/base/a_test.cpp": include}, "g++", "clang++"),
                         [("g++", "a.hpp")])
        for number, text in enumerate(("#include <string>\n" + include, "#define NAME 1\n" + include, "")):
            source = {f"src/base/{number}.cpp": text}
            self.assertEqual(self.left_to_the_build(source, "g++"), [], text)

    def test_a_source_that_is_not_built_proves_nothing(self):
        self.plant_header("src/base/a.hpp", "inline std::string text;\n")
        self.plant("src/base/a.cpp", '#include "kernelwright/base/a.hpp"\n')
        build = self.plant("build/compile_commands.json", "[]").parent
        self.assert_finds(check_headers.problems(self.root, ["g++"], build=build)[1], "g++ alone")

    def test_bodies_are_always_compiled_alone(self):
        self.plant_header("src/base/a_body.hpp")
        source = {"src/base/a.cpp": '#include "kernelwright/base/a_body.hpp"\n'}
        self.assertEqual(self.left_to_the_build(source, "g++"), [])

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
