# SPDX-License-Identifier: Apache-2.0
"""What importing costs and needs, and what a process may do before it initialises."""

import re
import subprocess
from pathlib import Path

from kernelwright import _library


def test_import_brings_nothing_heavy(run):
    out = run("import sys, kernelwright\n"
              "print([m for m in ('torch', 'numpy', 'tvm_ffi') if m in sys.modules])\n"
              "maps = open('/proc/self/maps').read()\n"
              "print([n for n in ('libcuda.so', 'libnvrtc', 'libtvm_ffi') if n in maps])\n")
    assert out.split("\n")[:2] == ["[]", "[]"]


def test_no_library_refers_to_cpython():
    folder = Path(_library.__file__).parent / "lib"
    for name in ("libkw.so", "libkw_ffi.so", "libkw_cli.so"):
        symbols = subprocess.run(["nm", "-D", "--undefined-only", str(folder / name)],
                                 capture_output=True, text=True, check=True).stdout
        assert symbols
        assert not re.findall(r" U (_?Py[A-Z_]\w*)", symbols), name


def test_before_initialise(run):
    out = run("""
import kernelwright as kw
slot = kw.OpSlot("rms_norm", "standard")
print(repr(slot), slot.bound, kw.initialized())
for act in (lambda: slot(1), lambda: kw.bind_slots([slot]), lambda: kw.explain("rms_norm"),
            lambda: kw.prepare("rms_norm/standard x=f32[4,8] weight=f32[8]")):
    try:
        act()
    except RuntimeError as error:
        print(error)
print(len(kw.list()["operations"]), kw.contract("rms_norm")["backward"])
""")
    assert "OpSlot(rms_norm/standard -> eager) False False" in out
    assert out.count("initialize()") == 4
    assert out.strip().endswith("rms_norm_backward")


def test_initialise_is_one_shot(run):
    out = run("""
import kernelwright as kw
kw.initialize(device="cpu", overrides={"rms_norm": "native"})
kw.initialize(device="cpu", overrides={"rms_norm": ["native"]})
try:
    kw.initialize(device="cpu")
except RuntimeError as error:
    print(error)
""")
    assert "already initialised" in out


def test_configuration_file(run, tmp_path):
    path = tmp_path / "ops.yaml"
    path.write_text("model:\n  ops_implementation:\n    rms_norm_implementation: eager\n")
    out = run("""
import sys, kernelwright as kw
kw.initialize(kw.load_config(sys.argv[1]), device="cpu")
slot = kw.OpSlot("rms_norm", "standard")
print(kw.bind_slots([slot])["slots"][0]["reason"], slot.bound)
""", str(path))
    assert out.startswith("eager by choice") and out.strip().endswith("False")


def test_fork(run):
    out = run("""
import os, numpy as np, kernelwright as kw
kw.initialize(device="cpu")
slot = kw.OpSlot("rms_norm", "standard")
kw.bind_slots([slot])
x = np.random.default_rng(1).standard_normal((512, 4096), dtype=np.float32)
w = np.ones(4096, np.float32)
before = slot(x, w)
child = os.fork()
if child == 0:
    os._exit(0 if (slot(x, w) == before).all() else 9)
print(os.waitpid(child, 0)[1], (slot(x, w) == before).all())
""")
    assert out.split() == ["0", "True"]
