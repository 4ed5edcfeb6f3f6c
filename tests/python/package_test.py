# SPDX-License-Identifier: Apache-2.0
"""What importing costs and needs, and what a process may do before it initialises."""

import re
import subprocess
from pathlib import Path

from kernelwright import _library


def test_import_brings_nothing_heavy(run):
    """What makes it 60 ms and less: no library, few modules, none of those that take long to load. A
    count, for time depends on the machine."""
    out = run("import sys\n"
              "before = set(sys.modules)\n"
              "import kernelwright\n"
              "new = {m for m in set(sys.modules) - before if m.split('.')[0] != 'kernelwright'}\n"
              "heavy = {'torch', 'numpy', 'tvm_ffi', 'importlib.metadata', 'inspect', 'dataclasses',\n"
              "         'json', 're', 'typing', 'pathlib', 'subprocess'}\n"
              "print(sorted(heavy & new), len(new) <= 20, sorted(new))\n"
              "maps = open('/proc/self/maps').read()\n"
              "print([n for n in ('libkw', 'libcuda.so', 'libnvrtc', 'libtvm_ffi') if n in maps])\n"
              "print(kernelwright.__version__, 'libkw.so' in open('/proc/self/maps').read())\n")
    lines = out.split("\n")
    assert lines[0].startswith("[] True"), out
    assert lines[1] == "[]"
    assert lines[2].split()[0].count(".") == 2 and lines[2].endswith("True")


def test_no_device_is_opened_by_import(run):
    out = run("import os, kernelwright\n"
              "links = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')\n"
              "         if os.path.exists(f'/proc/self/fd/{fd}')]\n"
              "print([link for link in links if 'nvidia' in link])\n")
    assert out.strip() == "[]"


def test_no_library_refers_to_cpython():
    libraries = sorted(Path(_library.FOLDER, "lib").glob("*.so*"))
    names = {path.name for path in libraries}
    assert {"libkw.so", "libkw_ffi.so", "libkw_cli.so"} <= names
    for name in libraries:
        symbols = subprocess.run(["nm", "-D", "--undefined-only", str(name)],
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
