# SPDX-License-Identifier: Apache-2.0
"""The Python layer on a GPU: tools/gpu/python.sh runs this; nothing here can run without one."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

import kernelwright as kw
from kernelwright import _torch

kw.initialize(device="cuda")
VARIANTS = ["standard", "fp32", "qwen3_5", "unweighted"]


def slot(label="rms_norm/standard", device=None):
    made = kw.OpSlot(*label.split("/"))
    kw.bind_slots([made], device)
    assert made.bound
    return made


def inputs(rows=(37,), width=4096, dtype=torch.bfloat16):
    x = torch.randn(*rows, width, dtype=dtype, device="cuda", requires_grad=True)
    return x, torch.randn(width, dtype=dtype, device="cuda", requires_grad=True)


def formula(variant, x, weight, eps=1e-6):
    y = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    return y if variant == "unweighted" else y * (weight + (variant == "qwen3_5"))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("variant", VARIANTS)
def test_forward_and_gradients(variant, dtype):
    bound, (x, w) = slot(f"rms_norm/{variant}"), inputs(dtype=dtype)
    y = bound(x) if variant == "unweighted" else bound(x, w)
    dy = torch.randn_like(y)
    y.backward(dy)
    x64, w64 = (t.detach().double().requires_grad_() for t in (x, w))
    want = formula(variant, x64, w64)
    want.backward(dy.double())
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    pairs = [(y, want), (x.grad, x64.grad)] + ([] if variant == "unweighted" else [(w.grad, w64.grad)])
    for got, expected in pairs:
        assert got.dtype == dtype and got.is_cuda
        assert (got - expected).abs().max() <= tolerance * expected.abs().max()


def test_outputs_are_pytorch_s_own():
    """On each device, whichever is current: the fast allocation has no argument for it."""
    bound = slot()
    for index in range(torch.cuda.device_count()):
        x, w = (t.detach().to(index) for t in inputs())
        y = bound(x, w)
        assert y.device == x.device and y.untyped_storage().resizable()
        assert torch.equal(y, bound(x, w, y=torch.empty_like(x)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_opcheck(variant):
    _torch.register()
    x, w = inputs(rows=(5,), width=64)
    done = torch.library.opcheck(torch.ops.kw.rms_norm.default,
                                 (x, None if variant == "unweighted" else w, 1e-6),
                                 {"variant": variant, "want_rstd": True})
    assert set(done.values()) == {"SUCCESS"}


def test_side_streams():
    bound, side = slot(), torch.cuda.Stream()
    x, w = inputs()
    want = bound(x.detach(), w.detach())
    big = torch.randn(4096, 4096, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        late = (big @ big)[:37].to(torch.bfloat16) * 0 + x.detach()  # still being made
        got = bound(late, w.detach())
    side.synchronize()
    assert torch.equal(got, want)


def test_cuda_graph_of_forward_and_backward():
    bound, (x, w) = slot(), inputs()
    dy = torch.randn_like(x)
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(3):
            torch.autograd.grad(bound(x, w), (x, w), dy)
    torch.cuda.current_stream().wait_stream(warm)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = bound(x, w)
        dx, dw = torch.autograd.grad(y, (x, w), dy)
    with torch.no_grad():
        x.copy_(torch.randn_like(x))
    graph.replay()
    want = bound(x, w)
    want_dx, want_dw = torch.autograd.grad(want, (x, w), dy)
    torch.cuda.synchronize()
    assert torch.equal(y, want) and torch.equal(dx, want_dx) and torch.equal(dw, want_dw)


def test_unprepared_while_capturing_is_refused():
    bound, (x, w) = slot(), inputs(rows=(3, 5), width=736)
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="not prepared, and the stream is capturing"):
        with torch.cuda.graph(graph):
            bound(x.detach(), w.detach())


def test_compile_fullgraph():
    bound = slot()
    compiled = torch.compile(lambda x, w: bound(x, w).float().cos(), fullgraph=True)
    x, w = inputs()
    compiled(x, w).sum().backward()
    kept, x.grad = x.grad.clone(), None
    bound(x, w).float().cos().sum().backward()
    assert torch.allclose(x.grad.float(), kept.float(), atol=1e-2)


def test_cpu_beside_cuda():
    host = slot(device="cpu")
    x, w = inputs(dtype=torch.float32)
    on_host = host(x.detach().cpu(), w.detach().cpu())
    assert torch.allclose(slot()(x.detach(), w.detach()).cpu(), on_host, atol=1e-5)
    with pytest.raises(ValueError, match="'x' lies on cuda:0, but this slot is bound for cpu"):
        host(x.detach(), w.detach())
    with pytest.raises(ValueError, match="'weight' lies on cpu:0|'weight' lies on cpu"):
        slot()(x.detach(), w.detach().cpu())
