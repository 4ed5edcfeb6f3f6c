# SPDX-License-Identifier: Apache-2.0
"""check_symbol_floor.py sees a symbol that older systems lack, and only what is taken from others."""

import subprocess
import unittest

import planted
import check_symbol_floor

LISTING = """
libx.so:     file format elf64-x86-64

DYNAMIC SYMBOL TABLE:
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.35) hypot
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34) dlopen
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.2.5) free
0000000000000000  w   DF *UND*\t0000000000000000  GLIBCXX_3.4.30 _ZSt6newish
0000000000000000      DF *UND*\t0000000000000000 (GLIBCXX_3.4.9) _ZNSo9_M_insertIdEERSoT_
0000000000000000      DF *UND*\t0000000000000000 (CXXABI_1.3.14) __newer_abi
0000000000000000      DF *UND*\t0000000000000000 (GCC_14.0) __unwound
0000000000000000  w   D  *UND*\t0000000000000000  Base        __gmon_start__
0000000000001000 g    DF .text\t0000000000000010  GLIBC_2.99  of_our_own
"""


class CheckSymbolFloor(planted.PlantedTree):
    def test_listing(self):
        self.assert_finds(check_symbol_floor.too_new("libx.so", LISTING),
                          "hypot needs GLIBC_2.35, newer than GLIBC_2.34",
                          "_ZSt6newish needs GLIBCXX_3.4.30", "__newer_abi needs CXXABI_1.3.14")

    def test_what_objdump_says_of_a_real_object(self):
        source = self.plant("new.c", "double hypot(double, double);\n"
                                     "double f(double a) { return hypot(a, a); }\n")
        library = self.root / "libnew.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
        listing = subprocess.run(["objdump", "-T", library], capture_output=True, text=True, check=True)
        version = subprocess.run(["ldd", "--version"], capture_output=True, text=True, check=True)
        newer = float(version.stdout.splitlines()[0].rsplit(".", 1)[1]) >= 35
        self.assert_finds(check_symbol_floor.too_new("libnew.so", listing.stdout),
                          *["hypot needs GLIBC_2.35"] * newer)


if __name__ == "__main__":
    unittest.main()
