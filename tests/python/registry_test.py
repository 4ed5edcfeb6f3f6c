# SPDX-License-Identifier: Apache-2.0
"""Implementations that are Python callables. Each test has a process of its own: registration ends
with the first resolve."""

import subprocess
import sys

HEAD = """
import torch, kernelwright as kw
from kernelwright import register_kernel

def norm(x, weight, eps):
    r = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + eps)
    return (x.float() * r).to(x.dtype) * weight
"""


def test_registered_kernel_serves_without_crossing(run):
    out = run(HEAD + """
mine = register_kernel("rms_norm", "mine", device="cpu", variants=["standard"],
                       differentiable=True, description="a test")(norm)
assert mine is norm
kw.initialize(device="cpu", overrides={"rms_norm": "mine"})
slot = kw.OpSlot("rms_norm", "standard")
kw.bind_slots([slot])
print(slot)
x = torch.randn(2, 8, requires_grad=True)
y = slot(x, torch.ones(8))
print(y.grad_fn is not None, torch.equal(y, norm(x, torch.ones(8), 1e-6)))
try:
    slot(x, torch.ones(8), want_rstd=True)
except ValueError as error:
    print(error)
""")
    assert out.startswith("OpSlot(rms_norm/standard -> cpu.mine.rms_norm)\nTrue True\n")
    assert "returns y; ask for nothing else" in out


def test_in_a_list_the_problem_decides(run):
    out = run(HEAD + """
register_kernel("rms_norm", "mine", device="cpu", dtypes=["f64"], contiguous=True,
                variants=["standard"])(norm)
kw.initialize(device="cpu", overrides={"rms_norm": ["native", "mine"]})
slot = kw.OpSlot("rms_norm", "standard")
kw.bind_slots([slot])
x = torch.randn(2, 8)
print(kw.prepare("rms_norm/standard x=f32[2,8] weight=f32[8]")["implementation"],
      kw.prepare("rms_norm/standard x=f64[2,8] weight=f64[8]")["implementation"])
y = slot(x.double(), torch.ones(8).double())
print(torch.allclose(y, norm(x.double(), torch.ones(8).double(), 1e-6), atol=1e-6))
for problem in ("x=f64[2,8]:[16,1] weight=f64[8]", "x=f64[2,8] weight=f64[8] want_rstd=true"):
    try:
        kw.prepare("rms_norm/standard " + problem)
    except NotImplementedError as error:
        print(error)
""")
    assert "cpu.native.rms_norm cpu.mine.rms_norm\nTrue\n" in out
    assert "takes contiguous tensors only" in out and "computes y only" in out


def test_dependencies(run):
    out = run("""
import kernelwright as kw
from kernelwright import register_kernel
for name, need in (("absent", "no_such_package>=1"), ("old", "numpy>=99"), ("fine", "numpy>=1")):
    register_kernel("rms_norm", name, device="cpu", target="no_such_module:f", requires=[need])
kw.initialize(device="cpu", overrides={"rms_norm": "fine"})
for row in kw.list("rms_norm")["excluded"]:
    print(row["implementation"], row["reason"])
slot = kw.OpSlot("rms_norm", "standard")
try:
    kw.bind_slots([slot])
except ImportError as error:
    print("broken:", error)
""")
    assert "cpu.absent.rms_norm needs no_such_package>=1, which is not installed" in out
    assert "cpu.old.rms_norm needs numpy>=99, and" in out
    assert "broken: No module named 'no_such_module'" in out


def test_registration_errors(run):
    out = run(HEAD + """
for arguments in (dict(operation="rms_nrm"), dict(outputs=["z"]), dict(target=3)):
    try:
        register_kernel(**{"operation": "rms_norm", "solution": "mine", "device": "cpu",
                           "target": norm, **arguments})
    except (KeyError, TypeError) as error:
        print(type(error).__name__, error)
register_kernel("rms_norm", "mine", device="cpu", target=norm)
for force in (False, True):
    try:
        register_kernel("rms_norm", "mine", device="cpu", target=norm, force=force)
        print("replaced")
    except RuntimeError as error:
        print("RuntimeError", error)
kw.initialize(device="cpu")
try:
    register_kernel("rms_norm", "late", device="cpu", target=norm)
except RuntimeError as error:
    print("RuntimeError", error)
""")
    assert "did you mean 'rms_norm'" in out and "no output 'z'; it has y, rstd" in out
    assert "TypeError a kernel is a callable" in out
    assert out.count("RuntimeError") == 2 and "replaced" in out


def test_the_callable_s_error_reaches_the_caller(run):
    out = run(HEAD + """
@register_kernel("rms_norm", "faulty", device="cpu")
def faulty(x, *_, eps):
    raise ArithmeticError("the disk is on fire")
kw.initialize(device="cpu", overrides={"rms_norm": ["faulty", "native"]})
slot = kw.OpSlot("rms_norm", "standard")
kw.bind_slots([slot])
try:
    slot(torch.ones(2, 8), torch.ones(8))
except RuntimeError as error:
    print(error)
""")
    assert "the Python implementation raised RuntimeError: the disk is on fire" in out


def command(*arguments):
    return subprocess.run([sys.executable, "-m", "kernelwright", *arguments], capture_output=True,
                          text=True, check=False, timeout=600)


def test_numerics_of_the_torch_backend():
    done = command("numerics", "--implementation", "cpu.torch.rms_norm", "--batch", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "cpu.torch.rms_norm" in done.stdout


def test_numerics_catch_a_wrong_callable(tmp_path, run):
    done = subprocess.run([sys.executable, "-c", HEAD + """
import ctypes, sys
from kernelwright import _library
@register_kernel("rms_norm", "wrong", device="cpu", variants=["standard"])
def wrong(x, weight, eps):
    return norm(x, weight, eps) * 1.02
words = [b"kw", b"numerics", b"--implementation", b"cpu.wrong.rms_norm", b"--batch", b"smoke"]
sys.exit(_library.command_line()(len(words), (ctypes.c_char_p * 7)(*words, None)))
"""], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 1, done.stdout + done.stderr


def test_evidence_that_is_required(run, tmp_path):
    out = run("""
import os, shlex, subprocess, sys
os.environ["KW_CACHE_DIR"] = sys.argv[1]
import numpy as np
import kernelwright as kw

kw.initialize(device="cpu", require_evidence=True)
slot = kw.OpSlot("rms_norm", "standard")
kw.bind_slots([slot])
x, w = np.ones((4, 64), np.float32), np.ones(64, np.float32)
try:
    slot(x, w)
except NotImplementedError as error:
    text = str(error)
print(text)
words = shlex.split(text[text.index("`") + 1:text.rindex("`")])
subprocess.run([sys.executable, "-m", "kernelwright", *words[1:], "--quiet"], check=True)
print(slot(x, w).shape)
""", str(tmp_path))
    assert "cpu.native.rms_norm would serve 'rms_norm/standard x=f32[4,64] weight=f32[64]'" in out
    assert "require_evidence is on (argument of initialize)" in out
    assert f"there is none in '{tmp_path}/evidence'" in out
    assert out.endswith("(4, 64)\n")


def test_a_python_callable_has_no_evidence(run):
    out = run(HEAD + """
register_kernel("rms_norm", "mine", device="cpu", variants=["standard"])(norm)
kw.initialize(device="cpu", overrides={"rms_norm": "mine"}, require_evidence=True)
slot = kw.OpSlot("rms_norm", "standard")
kw.bind_slots([slot])
try:
    slot(torch.ones(2, 8), torch.ones(8))
except NotImplementedError as error:
    print(error)
""")
    assert "nothing tells which code cpu.mine.rms_norm runs" in out


WRONG = {
    "returned 2 outputs": "lambda x, weight, eps: (x * weight, x)",
    "'y' is a float": "lambda x, weight, eps: 1.0",
    "'y' has shape [64]; the contract says [4, 64]": "lambda x, weight, eps: x[0] * weight",
    "'y' has dtype torch.float64": "lambda x, weight, eps: x.double()",
    "'y' has strides": "lambda x, weight, eps: (x * weight).t().contiguous().t()",
}


def reasons(run, tmp_path, body):
    """Exit code and (code, message) of a numerics run over one callable, as kw runs it."""
    return run("""
import json, sys
import kernelwright as kw
from kernelwright import __main__ as program, register_kernel

register_kernel("rms_norm", "mine", device="cpu", variants=["standard"], target=%s)
path = sys.argv[1] + "/r.json"
sys.argv[1:] = ["numerics", "--implementation", "cpu.mine.rms_norm", "--problem",
                "rms_norm/standard x=f32[4,64] weight=f32[64]", "--quiet", "--output", path]
code = program.main()
case = json.load(open(path))["cases"][0]
print("*", code, case["reason"]["code"], case["reason"]["message"])
""" % body, str(tmp_path))


def test_outputs_of_another_structure(run, tmp_path):
    for message, body in WRONG.items():
        out = reasons(run, tmp_path, body)
        assert "* 1 output_structure" in out and message in out, out


def test_outputs_in_memory_of_inputs(run, tmp_path):
    out = reasons(run, tmp_path, "lambda x, weight, eps: x.view(4, 64)")
    assert "* 1 undeclared_alias" in out and "'y' shares memory with the input 1" in out
