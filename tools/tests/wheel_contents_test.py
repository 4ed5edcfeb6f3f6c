# SPDX-License-Identifier: Apache-2.0
"""wheel_contents.py sees what would keep a wheel from running elsewhere: its tag, what it lacks, a
library from outside, CPython, a symbol that older systems lack. The libraries are real."""

import subprocess
import unittest
import zipfile

import planted
import wheel_contents

GOOD = f"kernelwright-1.0-{wheel_contents.TAG}.whl"


class WheelContents(planted.PlantedTree):
    def library(self, name, text, *flags):
        """Bytes of a library with that soname; a -l finds those made before."""
        path, source = self.root / name, self.plant("made.c", text)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source, f"-Wl,-soname,{name}",
                        f"-L{self.root}", *flags], check=True)
        return path.read_bytes()

    def wheel(self, name=GOOD, **changed):
        """A wheel that has everything; `changed`: file stem -> its bytes, None to leave it out."""
        empty = self.library("libempty.so", "")
        parts = {name: b"" for name in wheel_contents.NEEDED}
        parts |= {f"kernelwright/lib/{stem}.so": empty + stem.encode()  # each its own contents
                  for stem in ("libkw_ffi", "libkw_cli")}
        parts["kernelwright/lib/libkw.so"] = empty + b"cuda_body.cuh"
        parts["kernelwright/ops/rms/torch.py"] = b""
        parts["kernelwright-1.0.dist-info/entry_points.txt"] = \
            b"[console_scripts]\nkw = kernelwright.__main__:main\n"
        parts |= {f"kernelwright/lib/{stem}.so": contents for stem, contents in changed.items()}
        path = self.root / name
        with zipfile.ZipFile(path, "w") as archive:
            for part, contents in parts.items():
                archive.writestr(part, contents)
        return wheel_contents.problems(path)[1]

    def test_a_good_wheel(self):
        self.library("libtvm_ffi.so", "void t(void) {}")
        borrows = self.library("libkw_ffi.so", "void t(void); void f(void) { t(); }", "-ltvm_ffi")
        self.assertEqual(self.wheel(libkw_ffi=borrows), [])

    def test_tag(self):
        for tag in ("py3-none-linux_x86_64", "cp311-cp311-manylinux_2_34_x86_64",
                    "py3-none-manylinux_2_35_x86_64"):
            self.assert_finds(self.wheel(f"kernelwright-1.0-{tag}.whl"), f"the tag is {tag}; what")

    def test_a_library_from_outside(self):
        self.library("libtvm_ffi.so", "void t(void) {}")
        leans = self.library("libkw_cli.so", "void t(void); void f(void) { t(); }", "-ltvm_ffi")
        self.assert_finds(self.wheel(libkw_cli=leans), "libkw_cli.so needs libtvm_ffi.so, which is not in")

    def test_its_own_libraries_from_elsewhere(self):
        other = self.library("libother.so", "void t(void) {}")
        for flags, said in (((), "no folder of its own"), (("-Wl,-rpath,/opt/lib",), "/opt/lib")):
            leans = self.library("libkw_cli.so", "void t(void); void f(void) { t(); }", "-lother", *flags)
            self.assert_finds(self.wheel(libkw_cli=leans, libother=other), f"looks for libraries in {said}")
        finds = self.library("libkw_cli.so", "void t(void); void f(void) { t(); }", "-lother",
                             "-Wl,-rpath,$ORIGIN")
        self.assertEqual(self.wheel(libkw_cli=finds, libother=other), [])
        self.assert_finds(self.wheel(libkw_cli=finds, libother=other, libagain=other), "is kernelwright/lib/")

    def test_cpython(self):
        leans = self.library("libkw_ffi.so", "void Py_IncRef(void*); void f(void) { Py_IncRef(0); }")
        self.assert_finds(self.wheel(libkw_ffi=leans), "refers to CPython: Py_IncRef")

    def test_no_embedded_kernels(self):
        self.assert_finds(self.wheel(libkw=self.library("libempty.so", "")), "libkw.so has no embedded")


if __name__ == "__main__":
    unittest.main()
