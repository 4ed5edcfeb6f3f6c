# SPDX-License-Identifier: Apache-2.0
"""kw_call and kw_plan_* on a GPU, through ctypes as C would: calls, plans, several launches in one,
workspace of the caller's and of the library's, other streams, CUDA graphs. tools/gpu/python.sh runs
this; nothing here can run without a GPU."""

import ctypes
import json

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

import kernelwright as kw
from kernelwright import _library

DEVICE = "cuda"
core = _library.core()
core.kw_unbind.restype = core.kw_plan_destroy.restype = None
kw.initialize(device=DEVICE)
ABSENT = -1
DTYPES = {torch.float32: 1, torch.bfloat16: 3}
I64 = ctypes.c_int64


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.POINTER(I64)), ("strides", ctypes.POINTER(I64)),
                ("list", ctypes.c_void_p), ("list_size", I64)]


class Scalar(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_double), ("integer", I64),
                ("text", ctypes.c_char_p)]


class Arguments(ctypes.Structure):
    _fields_ = [("tensors", ctypes.POINTER(Tensor)), ("scalars", ctypes.POINTER(Scalar)),
                ("num_tensors", ctypes.c_int32), ("num_scalars", ctypes.c_int32)]


class Call:
    """The arguments of one call; keeps what they point to."""

    def __init__(self, *tensors, eps=1e-6):
        self.kept = [tensors]
        self.tensors = (Tensor * len(tensors))(*map(self.view, tensors))
        self.scalars = (Scalar * 1)(Scalar(1, eps, 0, None))
        self.passed = (self.tensors, len(tensors), self.scalars, 1)

    def view(self, tensor):
        if tensor is None:
            return Tensor(None, 0, ABSENT, None, None, None, 0)
        sizes, strides = ((I64 * tensor.dim())(*values) for values in (tensor.shape, tensor.stride()))
        self.kept += [sizes, strides]
        return Tensor(tensor.data_ptr(), DTYPES[tensor.dtype], tensor.dim(), sizes, strides, None, 0)

    def struct(self):
        return Arguments(self.tensors, self.scalars, len(self.tensors), 1)


def done(code):
    assert code == 0, core.kw_last_error().decode()


def stream():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def launch(function, handle, call, workspace=None):
    address, size = (None, 0) if workspace is None else (workspace.data_ptr(), workspace.numel())
    return function(handle, *call.passed, ctypes.c_void_p(address), I64(size), stream())


def needed(function, handle, call):
    size, zeroed = I64(), I64()
    done(function(handle, *call.passed, ctypes.byref(size), ctypes.byref(zeroed)))
    return size.value, zeroed.value


@pytest.fixture
def bound():
    handles = []

    def make(operation, variant="standard"):
        handle = ctypes.c_void_p()
        done(core.kw_bind(operation.encode(), variant.encode(), DEVICE.encode(),
                          ctypes.byref(handle)))
        handles.append(handle)
        return handle
    yield make
    for handle in handles:
        core.kw_unbind(handle)


@pytest.fixture
def planned():
    handles = []

    def make(problem):
        handle = ctypes.c_void_p()
        request = json.dumps({"problem": problem, "device": DEVICE})
        done(core.kw_plan_create(request.encode(), ctypes.byref(handle)))
        handles.append(handle)
        return handle
    yield make
    for handle in handles:
        core.kw_plan_destroy(handle)


FREE = "rms_norm/standard x=bf16[?,4096] weight=bf16[4096] want_rstd=true"
BACKWARD = ("rms_norm_backward/standard dy=bf16[?,4096] x=bf16[?,4096] weight=bf16[4096] rstd=f32[?] "
            "want_dx=true want_dweight=true")


def forward(rows=37, width=4096):
    x, w = (torch.randn(*shape, dtype=torch.bfloat16, device=DEVICE)
            for shape in ((rows, width), (width,)))
    y, rstd = torch.zeros_like(x), torch.zeros(rows, device=DEVICE)
    return (x, w, y, rstd), Call(x, w, y, rstd)


def backward(rows=512, width=4096):
    """Its weight gradient is the operation's sum over rows, and wants workspace on a GPU."""
    (x, w, y, rstd), call = forward(rows, width)
    done(launch(core.kw_call, backward.binding, call))
    dy = torch.randn_like(x)
    dx, dw = torch.zeros_like(x), torch.zeros_like(w)
    return (dy, x, w, rstd, dx, dw), Call(dy, x, w, rstd, dx, dw)


def near(got, want, tolerance=2e-2):
    assert (got.double() - want).abs().max() <= tolerance * want.abs().max()


def check_forward(x, w, y, rstd):
    want = torch.rsqrt(x.double().square().mean(-1, keepdim=True) + 1e-6)
    near(rstd, want[:, 0], 1e-5)
    near(y, x.double() * want * w.double())


def check_backward(dy, x, w, _, dx, dw):
    x64, w64 = (t.double().requires_grad_() for t in (x, w))
    y = x64 * torch.rsqrt(x64.square().mean(-1, keepdim=True) + 1e-6) * w64
    want = torch.autograd.grad(y, (x64, w64), dy.double())
    near(dx, want[0])
    near(dw, want[1])


def test_call(bound):
    handle = bound("rms_norm")
    for rows in (1, 37, 37, 4096):
        tensors, call = forward(rows)
        done(launch(core.kw_call, handle, call))
        check_forward(*tensors)


def test_workspace_of_the_caller_and_of_the_library(bound, planned):
    backward.binding = bound("rms_norm")
    handle, plan = bound("rms_norm_backward"), planned(BACKWARD)
    for start, ask, owner in ((core.kw_call, core.kw_workspace, handle),
                              (core.kw_plan_launch, core.kw_plan_workspace, plan)):
        tensors, call = backward()
        size, zeroed = needed(ask, owner, call)
        assert 0 <= zeroed <= size
        own = torch.zeros(max(size, 1), dtype=torch.uint8, device=DEVICE)
        for _ in range(2):  # the second finds zeroed bytes as the first left them
            tensors[-1].zero_()
            done(launch(start, owner, call, own))
            check_backward(*tensors)
        assert not own[:zeroed].any()
        tensors[-1].zero_()
        done(launch(start, owner, call))
        check_backward(*tensors)
        if size > 1:
            assert launch(start, owner, call, own[:1]) != 0
            assert "workspace" in core.kw_last_error().decode()


def test_plan_and_several_launches(planned):
    plan = planned(FREE)
    made = [forward(rows) for rows in (1, 37, 4096)]
    for tensors, call in made:
        done(launch(core.kw_plan_launch, plan, call))
        check_forward(*tensors)
        tensors[2].zero_()
    structs = (Arguments * len(made))(*[call.struct() for _, call in made])
    done(core.kw_plan_launch_multi(plan, structs, len(made), None, I64(0), stream()))
    for tensors, _ in made:
        check_forward(*tensors)
    _, other = forward(4, 2048)
    assert launch(core.kw_plan_launch, plan, other) == 1
    assert "'x'" in core.kw_last_error().decode()


def test_side_stream(bound, planned):
    handle, plan = bound("rms_norm"), planned(FREE)
    side = torch.cuda.Stream()
    tensors, call = forward(4096)
    for start, owner in ((core.kw_call, handle), (core.kw_plan_launch, plan)):
        tensors[2].zero_()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            done(launch(start, owner, call))
        torch.cuda.current_stream().wait_stream(side)
        check_forward(*tensors)


@pytest.mark.parametrize("way", ["call", "plan", "multi"])
def test_captured(bound, planned, way):
    backward.binding = bound("rms_norm")
    handle, plan = bound("rms_norm_backward"), planned(BACKWARD)
    tensors, call = backward()
    owner = handle if way == "call" else plan
    size, _ = needed(core.kw_workspace if way == "call" else core.kw_plan_workspace, owner, call)
    own = torch.zeros(max(size, 1), dtype=torch.uint8, device=DEVICE)

    def start():
        if way == "multi":
            structs = (Arguments * 2)(call.struct(), call.struct())
            return core.kw_plan_launch_multi(plan, structs, 2, ctypes.c_void_p(own.data_ptr()),
                                             I64(own.numel()), stream())
        return launch(core.kw_call if way == "call" else core.kw_plan_launch, owner, call, own)
    done(start())
    eager = [t.clone() for t in tensors[-2:]]
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        done(start())
    for _ in range(3):
        for t in tensors[-2:]:
            t.zero_()
        graph.replay()
        for got, want in zip(tensors[-2:], eager):
            assert torch.equal(got, want)
    tensors[0].copy_(torch.randn_like(tensors[0]))  # the graph reads the same memory
    graph.replay()
    check_backward(*tensors)


def test_first_call_in_a_capture_is_refused(bound):
    handle = bound("rms_norm", "fp32")
    tensors, call = forward(11, 1536)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensors[0].add_(0)  # an empty graph is a warning
        code, message = launch(core.kw_call, handle, call), core.kw_last_error().decode()
    assert code == 7 and "rms_norm/fp32" in message
