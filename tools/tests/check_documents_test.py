# SPDX-License-Identifier: Apache-2.0
"""check_documents.py fails on a snippet, a command or a link that does not work."""

import subprocess
import unittest

import planted
import check_documents


class CheckDocuments(planted.PlantedTree):
    def setUp(self):
        super().setUp()
        self.build = self.root / "build"
        source = self.plant("build/lib/kw.cpp", "int kw_answer() { return 42; }\n")
        (self.root / "build" / "bin").mkdir()
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", self.build / "lib" / "libkw.so"],
                       check=True)
        self.plant_header("include/kernelwright/answer.hpp", "int kw_answer();\n")

    def find(self, mark, language, body):
        self.plant("README.md", f"# Title\n\n<!-- {mark} -->\n```{language}\n" + body + "```\n")
        return check_documents.problems(self.root, self.build)[1]

    def test_program(self):
        text = '#include "kernelwright/answer.hpp"\nint main() { return kw_answer() - 42; }\n'
        self.assert_finds(self.find("complete", "cpp", text))

    def test_program_that_fails(self):
        text = '#include "kernelwright/answer.hpp"\nint main() { return kw_answer(); }\n'
        self.assert_finds(self.find("complete", "cpp", text), "exit code 42")

    def test_declarations_only(self):
        self.assert_finds(self.find("complete", "cpp", "struct A {};\n"))

    def test_does_not_compile(self):
        self.assert_finds(self.find("complete", "cpp", "kw::Gone x;\n"), "README.md:5: exit code 1")

    def test_command(self):
        self.assert_finds(self.find("run", "console", "$ test -f README.md\nanything\n$ true\n"))

    def test_command_that_fails(self):
        self.assert_finds(self.find("run", "console", "$ false\n$ true\n"), "exit code 1")

    def test_command_without_prompt(self):
        self.assert_finds(self.find("run", "console", "true\n"), "no line starts with")

    def test_executed(self):
        self.assert_finds(self.find("executed", "console", "$ echo a; echo 'b  17 ms'\nb ... ms\n$ false\n"
                                    "[exit code 1]\n$ echo x > made\n$ cat made\nx\n"))
        self.assertFalse((self.root / "made").exists(), "a block has a folder of its own")

    def test_executed_that_prints_something_else(self):
        self.assert_finds(self.find("executed", "console", "$ echo a; echo b\nb\na\n"),
                          "did not print 'a'")

    def test_executed_that_prints_more_in_the_line(self):
        self.assert_finds(self.find("executed", "console", "$ echo ab\na\n"), "did not print 'a'")

    def test_executed_with_another_exit_code(self):
        self.assert_finds(self.find("executed", "console", "$ false\n"), "`false` ended with 1, not 0")

    def test_executed_that_succeeds_instead(self):
        self.assert_finds(self.find("executed", "console", "$ true\n[exit code 1]\n"), "with 0, not 1")

    def test_executed_without_a_command(self):
        self.assert_finds(self.find("executed", "console", "a\n"), "before the first `$ `")

    def test_wrong_language(self):
        self.assert_finds(self.find("complete", "python", "x\n"), "not for python")

    def test_links(self):
        self.plant("docs/a.md", "[up](../README.md#title) [web](https://example.org) [gone](b.md)\n")
        self.plant("README.md", "[a](docs/a.md)\n")
        self.assert_finds(check_documents.problems(self.root, self.build)[1],
                          "docs/a.md: link to b.md: no such file")


if __name__ == "__main__":
    unittest.main()
