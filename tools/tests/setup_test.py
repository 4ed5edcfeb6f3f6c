# SPDX-License-Identifier: Apache-2.0
"""setup.sh with a made-up dpkg-query, id and apt-get: quiet when all is there, exact when not."""

import os
import subprocess
import unittest

import planted
import source_tree

ALL = ("make cmake ninja-build g++ ccache mold python3 libfmt-dev libyaml-cpp-dev nlohmann-json3-dev "
       "libcli11-dev libhwy-dev libssl-dev libgtest-dev libbenchmark-dev python3-jsonschema").split()


class Setup(planted.PlantedTree):
    def run_setup(self, installed, user, *arguments, apt_result=0):
        listing = "\n".join(f"ii  {name}" for name in installed)
        for name, body in (("dpkg-query", f"cat <<'X'\nun  unpacked\n{listing}\nX\nexit 1"),
                           ("id", f"echo {user}"),
                           ("apt-get", f'echo "apt-get $*"; exit {apt_result}')):
            self.plant(f"bin/{name}", f"#!/bin/sh\n{body}\n").chmod(0o755)
        return subprocess.run([source_tree.ROOT / "tools" / "setup.sh", *arguments], text=True,
                              capture_output=True, check=False,
                              env=dict(os.environ, PATH=f"{self.root}/bin:{os.environ['PATH']}"))

    def test_nothing_missing(self):
        result = self.run_setup(ALL, 1000)
        self.assertEqual((result.returncode, result.stdout + result.stderr), (0, ""))

    def test_user_is_told_the_line(self):
        result = self.run_setup([name for name in ALL if name not in ("mold", "libfmt-dev")], 1000)
        self.assertEqual(result.returncode, 4)
        self.assertIn("sudo apt-get update && sudo apt-get install -y --no-install-recommends "
                      "mold libfmt-dev\n", result.stderr)

    def test_root_installs(self):
        result = self.run_setup(ALL[1:], 0)
        self.assertEqual(result.returncode, 0)
        self.assertIn("apt-get install -y --no-install-recommends make\n", result.stdout)

    def test_apt_fails(self):
        result = self.run_setup(ALL[1:], 0, apt_result=100)
        self.assertEqual(result.returncode, 4)
        self.assertIn("apt failed", result.stderr)

    def test_check_needs_more(self):
        result = self.run_setup(ALL, 1000, "check")
        self.assertEqual(result.returncode, 4)
        self.assertIn("clang-format-14", result.stderr)

    def test_unknown_set(self):
        self.assertEqual(self.run_setup(ALL, 1000, "everything").returncode, 2)


if __name__ == "__main__":
    unittest.main()
