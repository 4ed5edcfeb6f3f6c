# SPDX-License-Identifier: Apache-2.0
"""Who allocates the outputs of a bound call: what is remembered of shapes, and PyTorch's fast way."""

from types import SimpleNamespace

import torch

from kernelwright import _outputs, _signature


def test_pytorch_s_fast_allocation_is_there():
    """It is no public interface: that a release drops it shall be noticed."""
    found = _outputs._allocator(torch, "cpu")
    assert found["_fast"] is torch._C._dynamo.guards._empty_strided_cpu and found["_here"] is None


def machine(devices, **functions):
    return SimpleNamespace(cuda=SimpleNamespace(device_count=lambda: devices), _C=SimpleNamespace(
        _dynamo=SimpleNamespace(guards=SimpleNamespace(_empty_strided_cuda="fast")), **functions))


def test_it_serves_the_current_device_only():
    one, two = (_outputs._allocator(machine(n, _cuda_getDevice="current"), "cuda") for n in (1, 2))
    assert (one["_fast"], one["_here"]) == ("fast", None)  # nowhere else to be
    assert (two["_fast"], two["_here"]) == ("fast", "current")


def test_without_it_torch_empty_serves():
    lacking = machine(1)
    del lacking._C._dynamo.guards._empty_strided_cuda
    for torch_like in (lacking, machine(2)):
        made = _outputs._allocator(torch_like, "cuda")
        assert made["_here"]() is None  # no device: never that of a tensor
    like = torch.empty(2, device="meta")
    empty = _outputs._allocator(torch, "cpu")["_empty"](like, (2, 3), (3, 1), torch.float16)
    assert (empty.device, empty.shape, empty.dtype) == (like.device, (2, 3), torch.float16)


def test_calls_without_it(run):
    out = run("""
import torch
del torch._C._dynamo.guards._empty_strided_cpu
import kernelwright as kw
kw.initialize(device="cpu")
slot = kw.OpSlot("rms_norm", "fp32"); kw.bind_slots([slot])
x, w = torch.randn(2, 8, requires_grad=True), torch.ones(8)
slot(x, w).sum().backward()
want = torch.nn.functional.rms_norm(x, (8,), w, 1e-6)
with torch.no_grad():
    print(torch.allclose(slot(x, w), want, atol=1e-6), x.grad.shape == x.shape)
""")
    assert out.split() == ["True", "True"]


def test_layouts_are_computed_once_and_bounded(monkeypatch):
    monkeypatch.setattr(_outputs._Layouts, "LIMIT", 4)
    asked = []

    def function(shape, dtype):
        asked.append(shape)
        return ((*shape,), dtype), ((*shape[:-1],), torch.float32)
    layouts = _outputs._Layouts(function)
    shape = torch.Size([2, 0, 3])
    for _ in range(2):
        assert layouts[shape, torch.float16] == (((2, 0, 3), (3, 3, 1), torch.float16),
                                                 ((2, 0), (1, 1), torch.float32))
    assert len(asked) == 1 and type(layouts[shape, torch.float16][0][0]) is tuple
    for rows in range(10):
        layouts[torch.Size([rows]), torch.float16]
        assert len(layouts) <= 4


def test_what_decides_the_outputs():
    key, _ = _outputs.layouts(_signature.signature("rms_norm", "standard"))
    assert key == "x.shape, x.dtype"
    assert _outputs.layouts(_signature.signature("sum_list", "standard")) is None  # lists: the crossing
