# SPDX-License-Identifier: Apache-2.0
"""check_style.py fails on each habit that DESIGN 11 rules out."""

import unittest

import planted
import check_style

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


class CheckStyle(planted.PlantedTree):
    def find(self, name, text):
        self.plant(name, text)
        return check_style.problems(self.root)[1]

    def test_good(self):
        self.plant_header("src/core/a.hpp", "class Catalog;\n")
        self.assert_finds(self.find("src/cli/main.cpp", LICENCE + 'int main() { puts("x"); }\n'))

    def test_licence(self):
        self.assert_finds(self.find("src/core/a.cpp", "int x;\n"), "the first line says")

    def test_opening_comment_and_guard(self):
        self.assert_finds(self.find("src/core/a.hpp", LICENCE + "struct A;\n"), "1-4 lines",
                          "no #pragma once")

    def test_file_name(self):
        self.assert_finds(self.find("src/core/FooBar.cpp", LICENCE), "snake_case")

    def test_empty_names(self):
        for name in ("PlanManager", "StringHelper", "TensorUtils", "Util"):
            with self.subTest(name):
                self.assert_finds(self.find(f"src/core/{name.lower()}.cpp", LICENCE +
                                            f"class {name} {{}};\n"), "name nothing")
                (self.root / f"src/core/{name.lower()}.cpp").unlink()

    def test_members_initialised_with_nothing(self):
        for number, text in enumerate(("A() : text() {}", "A()\n    : n_(1),\n      text_() {}",
                                       "A() noexcept : n_(1), text_() {}")):
            name = f"src/core/a{number}.cpp"
            self.assert_finds(self.find(name, LICENCE + f"struct A {{ {text} }};\n"), "without being named")
            (self.root / name).unlink()
        self.assert_finds(self.find("src/core/b.cpp", LICENCE + "int x = a ? b : c(1, d_(), e());\n"
                                    "int y = f(a, b());\n"
                                    "int e = a ? g() : f(), l = a ? f() : g();\n"))

    def test_left_open(self):
        mark = "TO" + "DO"
        self.assert_finds(self.find("src/core/a.cpp", LICENCE + f"// {mark}: later\n"), "left open")

    def test_output(self):
        for number, call in enumerate(('std::printf("x")', "std::cout << 1", "std::abort()", "exit(1)",
                                       'fprintf(stderr, "x")', 'fmt::print("x")')):
            with self.subTest(call):
                name = f"src/core/a{number}.cpp"
                self.assert_finds(self.find(name, LICENCE + f"void f() {{ {call}; }}\n"),
                                  "never prints")
                (self.root / name).unlink()

    def test_not_output(self):
        self.assert_finds(self.find("src/core/a.cpp", LICENCE + "// exit(1)\nreport.print(x); snprintf("
                                    'b, 1, "x"); on_exit(f); kw::core::exit(1);\n'))


if __name__ == "__main__":
    unittest.main()
