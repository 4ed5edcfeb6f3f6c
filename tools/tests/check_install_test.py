# SPDX-License-Identifier: Apache-2.0
"""check_install.py sees a bundled library that is taken from elsewhere."""

import unittest

import planted
import check_install


class CheckInstall(planted.PlantedTree):
    def test_strangers(self):
        tree = self.root.resolve() / "tree"
        self.plant("tree/lib/libkw.so")
        binary = self.plant("tree/bin/kw")
        check_install.run, run = lambda *_: (
            f"\tlibkw.so => {tree}/lib/libkw.so (0x1)\n"
            "\tlibfmt.so.9 => /usr/lib/libfmt.so.9 (0x2)\n"
            "\tlibhwy.so.1 => not found\n"
            "\tlibc.so.6 => /lib/libc.so.6 (0x3)\n"), check_install.run
        self.addCleanup(setattr, check_install, "run", run)
        self.assert_finds(check_install.strangers(binary, tree), "libfmt.so.9 -> /usr/lib",
                          "libhwy.so.1 -> not")


if __name__ == "__main__":
    unittest.main()
