# SPDX-License-Identifier: Apache-2.0
"""PyTorch: autograd of slots, torch.ops, and what PyTorch does around a call."""

import threading

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import kernelwright as kw
from kernelwright import _torch

VARIANTS = ["standard", "fp32", "qwen3_5", "unweighted"]


def inputs(dtype=torch.float32, rows=(3, 5), width=16):
    x = torch.randn(*rows, width, dtype=dtype, requires_grad=True)
    return x, torch.randn(width, dtype=dtype, requires_grad=True)


def weights(variant, weight):
    return () if variant == "unweighted" else (weight,)


def formula(variant, x, weight, eps=1e-6):
    y = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    return y if variant == "unweighted" else y * (weight + (variant == "qwen3_5"))


def operator(variant, x, weight, **wants):
    return torch.ops.kw.rms_norm(x, None if variant == "unweighted" else weight, 1e-6,
                                 variant=variant, **wants)


@pytest.fixture(autouse=True, scope="module")
def registered():
    _torch.register()
    torch.manual_seed(1)


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradcheck(bound, variant):
    slot, (x, w) = bound(f"rms_norm/{variant}"), inputs(torch.float64)
    arguments = (x, *weights(variant, w))
    assert torch.autograd.gradcheck(lambda *a: slot(*a), arguments)
    assert torch.autograd.gradcheck(lambda *a: operator(variant, a[0], a[-1])[0], arguments)
    assert torch.autograd.gradcheck(lambda *a: operator(variant, a[0], a[-1], want_rstd=True)[0],
                                    arguments)


@pytest.mark.parametrize("want_rstd", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_opcheck(variant, want_rstd):
    x, w = inputs()
    arguments = (x, None if variant == "unweighted" else w, 1e-6)
    done = torch.library.opcheck(torch.ops.kw.rms_norm.default, arguments,
                                 {"variant": variant, "want_rstd": want_rstd})
    assert set(done.values()) == {"SUCCESS"}
    dy = torch.randn_like(x)
    with torch.no_grad():
        done = torch.library.opcheck(
            torch.ops.kw.rms_norm_backward.default,
            (dy, x.detach(), None if variant == "unweighted" else w.detach(), None, 1e-6),
            {"variant": variant, "want_dx": True, "want_dweight": variant != "unweighted"})
    assert set(done.values()) == {"SUCCESS"}


def test_opcheck_of_lists_and_mutation():
    tests = ("test_schema", "test_faketensor")
    parts = [torch.randn(3, 4), torch.randn(3, 4)]
    torch.library.opcheck(torch.ops.kw.sum_list.default, (parts, 2.0, None), test_utils=tests)
    torch.library.opcheck(torch.ops.kw.push.default, (torch.randn(2), torch.randn(2, 3)),
                          test_utils=tests)


@pytest.mark.parametrize("dtype, bound_on_error", [(torch.float32, 1e-5), (torch.bfloat16, 4e-2)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_match_the_formula(bound, variant, dtype, bound_on_error):
    slot = bound(f"rms_norm/{variant}")
    x, w = inputs(dtype, (64,), 256)
    dy = torch.randn(64, 256, dtype=dtype)
    y = slot(x, *weights(variant, w))
    assert y.grad_fn is not None
    y.backward(dy)
    x64, w64 = (t.detach().double().requires_grad_() for t in (x, w))
    formula(variant, x64, w64).backward(dy.double())
    for got, want in ((x.grad, x64.grad), (w.grad, w64.grad))[:1 if variant == "unweighted" else 2]:
        assert got.dtype == dtype
        assert (got - want).abs().max() <= bound_on_error * want.abs().max()


def test_only_what_needs_a_gradient(bound):
    slot, (x, w) = bound("rms_norm/standard"), inputs()
    slot(x.detach(), w).sum().backward()
    assert x.grad is None and w.grad is not None
    slot(x, w.detach()).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("make", [
    lambda y: torch.ones(()).expand_as(y),                      # y.sum().backward()
    lambda y: torch.randn(y.shape[-1]).expand_as(y),
    lambda y: torch.randn(*y.shape[:-1], 1).expand_as(y),
    lambda y: torch.randn(*y.shape[::-1]).permute(2, 1, 0),
    lambda y: torch.randn(*y.shape[:-1], 2 * y.shape[-1])[..., ::2],
    lambda y: torch.randn(y.shape[1], y.shape[0], y.shape[2]).transpose(0, 1),
], ids=["scalar", "row", "column", "permuted", "strided", "transposed"])
@pytest.mark.parametrize("through", ["slot", "ops"])
def test_gradients_of_any_layout(bound, make, through):
    slot = bound("rms_norm/standard")
    x, w = inputs()
    y = slot(x, w) if through == "slot" else operator("standard", x, w)[0]
    dy = make(y)
    y.backward(dy)
    x2, w2 = (t.detach().clone().requires_grad_() for t in (x, w))
    formula("standard", x2, w2).backward(dy.contiguous())
    assert torch.allclose(x.grad, x2.grad, atol=1e-5) and torch.allclose(w.grad, w2.grad, atol=1e-4)


def test_rstd_is_not_differentiable(bound):
    x, w = inputs()
    y, rstd = bound("rms_norm/standard")(x, w, want_rstd=True)
    assert y.requires_grad and not rstd.requires_grad
    y, rstd = operator("standard", x, w, want_rstd=True)
    assert y.requires_grad and not rstd.requires_grad


@pytest.mark.parametrize("through", ["slot", "ops"])
def test_double_backward_is_a_clear_error(bound, through):
    x, w = inputs()
    y = bound("rms_norm/standard")(x, w) if through == "slot" else operator("standard", x, w)[0]
    (dx,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="rms_norm_backward.* first derivative"):
        dx.sum().backward()


def test_no_grad_and_inference_mode(bound):
    slot, (x, w) = bound("rms_norm/standard"), inputs()
    with torch.no_grad():
        assert slot(x, w).grad_fn is None
        y = torch.empty_like(x)
        slot(x, w, y=y)
    with torch.inference_mode():
        assert slot(x, w).grad_fn is None and operator("standard", x, w)[0].grad_fn is None
        assert slot(x, w).is_inference()
    with pytest.raises(ValueError, match="outputs cannot be brought along"):
        slot(x, w, y=y)


def test_functorch_is_told_so(bound):
    slot, (x, w) = bound("rms_norm/standard"), inputs()
    for tensor in (x, x.detach()):  # PyTorch's own words, not its assertion about whom one has to call
        with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
            torch.func.grad(lambda a: slot(a, w.detach()).sum())(tensor)
    with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
        torch.func.vmap(lambda a: slot(a, w))(x.detach())
    slot(x, w).sum().backward()  # nothing of it is left


def test_saved_tensor_hooks_see_what_is_kept(bound):
    slot, (x, w) = bound("rms_norm/standard"), inputs()
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t.clone(),
                                                  lambda t: t):
        y = slot(x, w)
    assert packed == [(3, 5, 16), (16,), (3, 5)]
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()
    y = slot(x, w)
    with torch.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("arguments, error, text", [
    ((torch.ones(2, 8, dtype=torch.complex64, requires_grad=True), torch.ones(8)), ValueError,
     "'x' has elements"),
    ((torch.ones(2, 8, requires_grad=True), 3), TypeError, "'weight' .* is a tensor"),
    ((torch.ones((), requires_grad=True), torch.ones(8)), ValueError, r"'x' has shape \[\]"),
])
def test_errors_while_recording(bound, arguments, error, text):
    for wants in ({}, {"want_rstd": True}):
        with pytest.raises(error, match=text):
            bound("rms_norm/standard")(*arguments, **wants)


def test_autocast_changes_nothing(bound):
    slot, (x, w) = bound("rms_norm/standard"), inputs()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = torch.nn.functional.linear(x, torch.eye(16))
        assert half.dtype == torch.bfloat16
        y = slot(half, w)  # an f32 weight beside bf16 rows is in the contract
        assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert x.grad.dtype == torch.float32 and w.grad.dtype == torch.float32


@pytest.mark.parametrize("through", ["slot", "ops"])
def test_zero_rows(bound, through):
    x, w = inputs(rows=(0, 4))
    y = bound("rms_norm/standard")(x, w) if through == "slot" else operator("standard", x, w)[0]
    y.sum().backward()
    assert y.shape == (0, 4, 16) and x.grad.shape == x.shape and (w.grad == 0).all()


def test_checkpoint(bound):
    slot, (x, w) = bound("rms_norm/standard"), inputs()
    checkpoint(lambda a, b: slot(a, b).sin(), x, w, use_reentrant=False).sum().backward()
    kept = x.grad.clone()
    x.grad = None
    slot(x, w).sin().sum().backward()
    assert (x.grad == kept).all()


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_fullgraph(bound, dynamic):
    slot = bound("rms_norm/standard")
    compiled = torch.compile(lambda x, w: slot(x, w).cos(), fullgraph=True, backend="aot_eager",
                             dynamic=dynamic)
    for rows in (3, 4, 7):
        x, w = inputs(rows=(rows,))
        y = compiled(x, w)
        y.sum().backward()
        kept = x.grad.clone()
        x.grad = None
        slot(x, w).cos().sum().backward()
        assert torch.allclose(x.grad, kept, atol=1e-6)


def test_subclasses_go_through_the_dispatcher(bound):
    from torch._subclasses.fake_tensor import FakeTensorMode
    slot = bound("rms_norm/standard")
    with FakeTensorMode():
        y, rstd = slot(torch.empty(2, 3, 8, dtype=torch.bfloat16), torch.empty(8), want_rstd=True)
    assert y.shape == (2, 3, 8) and y.dtype == torch.bfloat16
    assert rstd.shape == (2, 3) and rstd.dtype == torch.float32
    parameter = torch.nn.Parameter(torch.ones(8))
    assert bound("rms_norm/standard")(torch.nn.Parameter(torch.ones(2, 8)), parameter).requires_grad


def test_fake_refuses_what_the_call_would():
    with pytest.raises(ValueError, match="'weight' has 0 dimensions"):
        torch.ops.kw.rms_norm(torch.empty(2, 8, device="meta"), torch.empty((), device="meta"))
    with pytest.raises(KeyError, match="no variant 'standrd'"):
        torch.ops.kw.rms_norm(torch.empty(2, 8, device="meta"), torch.empty(8, device="meta"),
                              variant="standrd")


def test_threads(bound):
    slot, (x, w) = bound("rms_norm/standard"), inputs(rows=(50,))
    want, wrong = slot(x.detach(), w.detach()), []

    def work():
        for _ in range(200):
            if not torch.equal(slot(x.detach(), w.detach()), want):
                wrong.append(1)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_second_import(run):
    out = run("""
import sys, torch
import kernelwright as kw
kw.initialize(device="cpu")
slot = kw.OpSlot("rms_norm", "standard"); kw.bind_slots([slot])
x, w = torch.randn(2, 8, requires_grad=True), torch.ones(8)
compiled = torch.compile(lambda a, b: slot(a, b), fullgraph=True, backend="eager")
first = compiled(x, w)
for name in [n for n in sys.modules if n.split(".")[0] == "kernelwright"]:
    del sys.modules[name]
import kernelwright as again
assert again is not kw and again.initialized()
other = again.OpSlot("rms_norm", "standard"); again.bind_slots([other])
print(torch.equal(other(x, w), first), torch.equal(torch.ops.kw.rms_norm(x, w)[0], first))
""")
    assert out.split() == ["True", "True"]


def test_torch_after_bind(run):
    out = run("""
import sys, numpy as np, kernelwright as kw
assert "torch" not in sys.modules
kw.initialize(device="cpu")
slot = kw.OpSlot("rms_norm", "standard"); kw.bind_slots([slot])
import torch
x = torch.randn(2, 8, requires_grad=True)
slot(x, torch.ones(8)).sum().backward()
print(x.grad is not None)
""")
    assert out.split() == ["True"]
