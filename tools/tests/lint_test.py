# SPDX-License-Identifier: Apache-2.0
"""lint.py finds what .clang-tidy is for, a mistake of each kind, in sources and in headers, and looks twice
only at changes. Skipped without clang-tidy."""

import json
import shutil
import unittest

import planted
import lint
import source_tree


# Each is found by its check.
PLANTED = {
    "bugprone-branch-clone": "int f1(bool a) { if (a) return 1; else return 1; }",
    "bugprone-infinite-loop": "void f2(int n) { int i = 0; while (i < n) { } }",
    "bugprone-integer-division": "double f3(int a, int b) { return a / b; }",
    "bugprone-macro-parentheses": "#define TWICE(x) 2 * x\nint f4() { return TWICE(3); }",
    "bugprone-sizeof-expression": "auto f5(int* p) { return sizeof(p) / sizeof(*p); }",
    "bugprone-suspicious-semicolon": "void f6(bool a) { if (a); f6(false); }",
    "bugprone-undefined-memory-manipulation": "void f7(std::string* s) { memset(s, 0, sizeof(*s)); }",
    "bugprone-unhandled-self-assignment": "struct Self { int* p; Self& operator=(const Self& o) "
                                          "{ delete p; p = new int(*o.p); return *this; } };",
    "bugprone-unused-raii": "void f8() { std::string(3, 'a'); f8(); }",
    "bugprone-use-after-move": "std::size_t f9(std::string s) { std::string t = std::move(s); "
                               "return t.size() + s.size(); }",
    "misc-redundant-expression": "bool f10(int a) { return a == 1 && a == 1; }",
    "misc-unused-using-decls": "using std::vector;",
    "modernize-make-unique": "auto f11() { return std::unique_ptr<int>(new int(3)); }",
    "modernize-use-nullptr": "int* p12 = 0;",
    "modernize-use-override": "struct A { virtual ~A(); virtual void f(); }; "
                              "struct B : A { virtual void f(); };",
    "performance-for-range-copy": "int f13(const std::list<std::string>& v) "
                                  "{ int n = 0; for (auto s : v) n += s.size() > 2; return n; }",
    "performance-move-const-arg": "int f14(const std::string& s) { std::string t = std::move(s); "
                                  "return t.size() > 2; }",
    "performance-noexcept-move-constructor": "struct M { M(M&&); M& operator=(M&&); };",
    "performance-prefer-single-char-overloads": "auto f15(const std::string& s) { return s.find(\"a\"); }",
    "performance-unnecessary-copy-initialization":
        "bool f16(const std::list<std::string>& v) { const std::string s = v.front(); return s.empty(); }",
    "readability-container-size-empty": "bool f17(const std::string& s) { return s.size() == 0; }",
    "readability-identifier-naming": "struct plan {};",
    "readability-redundant-control-flow": "void f18() { return; }",
    "readability-redundant-smartptr-get": "int f19(std::unique_ptr<int> p) { return *p.get(); }",
    "readability-redundant-string-cstr": "void f20(std::string); "
                                         "void f21(const std::string& s) { f20(s.c_str()); }",
}
INCLUDES = "".join(f"#include <{name}>\n" for name in
                   ("cstddef", "cstring", "list", "memory", "string", "utility", "vector"))


@unittest.skipUnless(lint.TOOL.is_file(), "no clang-tidy: tools/fetch_clang_tidy.sh")
class Lint(planted.PlantedTree):
    def built(self, *sources):
        """A build tree of these, and the rules."""
        shutil.copy(source_tree.ROOT / ".clang-tidy", self.root)
        return self.plant("build/compile_commands.json", json.dumps(
            [{"directory": str(self.root), "file": str(path),
              "command": f"c++ -std=c++20 -I{self.root} -c {path}"} for path in sources])).parent

    def test_a_mistake_of_each_kind(self):
        source = self.plant("src/core/a.cpp", INCLUDES + "\n".join(PLANTED.values()) + "\n")
        _, found = lint.problems(self.root, self.built(source))
        self.assertEqual(len(found), 1)
        self.assertEqual([check for check in PLANTED if f"[{check}," not in found[0]], [], found[0])

    def test_headers_of_ours(self):
        header = self.plant_header("src/core/b.hpp", "struct plan {};\nint defined() { return 1; }\n")
        source = self.plant("src/core/b.cpp", f'#include "{header.relative_to(self.root)}"\n')
        _, found = lint.problems(self.root, self.built(source))
        self.assert_finds(found, "invalid case style for struct 'plan'")
        self.assertIn("misc-definitions-in-headers", found[0])

    def test_the_compiler_s_own_headers_are_there(self):
        source = self.plant("src/core/d.cpp", "#include <omp.h>\n#include <immintrin.h>\n"
                                              "int f() { return omp_get_max_threads(); }\n")
        self.assertEqual(lint.problems(self.root, self.built(source)), (1, []))

    def test_the_build_s_flags_and_errors(self):
        source = self.plant("src/core/c.cpp", "int broken( {\n")
        self.assert_finds(lint.problems(self.root, self.built(source))[1], "expected")

    def test_find_and_remember(self):
        bad = self.plant("src/core/a.cpp", "struct plan { int* p = 0; };\n")
        good = self.plant("src/core/b.cpp", "struct Plan { int* p = nullptr; };\n")
        build = self.built(bad, good)
        checked, found = lint.problems(self.root, build)
        self.assertEqual(checked, 2)
        self.assert_finds(found, "modernize-use-nullptr")
        self.assertIn("invalid case style for struct 'plan'", found[0])
        commands, run = [], lint.lint
        lint.lint = lambda build, path: commands.append(path)
        self.addCleanup(setattr, lint, "lint", run)
        lint.problems(self.root, build)
        self.assertEqual(commands, [bad])


if __name__ == "__main__":
    unittest.main()
