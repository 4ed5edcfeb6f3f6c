# SPDX-License-Identifier: Apache-2.0
"""Bound slots: signatures, allocation, lists, mutation, other frameworks, errors."""

import copy
import pickle

import numpy as np
import pytest
import torch

import kernelwright as kw


def norm(x, weight, eps=1e-6):
    x64 = np.asarray(x, dtype=np.float64)
    return x64 / np.sqrt((x64 ** 2).mean(-1, keepdims=True) + eps) * np.asarray(weight)


def test_numpy(bound):
    slot, rng = bound("rms_norm/standard"), np.random.default_rng(1)
    x, w = rng.standard_normal((5, 7, 33), dtype=np.float32), rng.standard_normal(33, dtype=np.float32)
    y, rstd = slot(x, w, 1e-3, want_rstd=True)
    assert type(y) is np.ndarray and rstd.shape == (5, 7)
    np.testing.assert_allclose(y, norm(x, w, 1e-3), rtol=1e-5, atol=1e-6)
    given = np.full_like(x, 9)
    slot(x, w, 1e-3, y=given)
    assert (given == y).all()


class Foreign:
    """An array of a framework that nobody knows."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_any_dlpack_object(bound):
    x, w = np.ones((2, 8), np.float32), np.full(8, 3, np.float32)
    y = bound("rms_norm/standard")(Foreign(x), Foreign(w))
    assert np.from_dlpack(y) == pytest.approx(norm(x, w), rel=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_torch_allocates_like_torch(bound, dtype):
    x, w = torch.randn(3, 4, 96, dtype=dtype), torch.randn(96, dtype=dtype)
    y = bound("rms_norm/fp32")(x, w)
    assert type(y) is torch.Tensor and y.dtype == dtype and y.is_contiguous()
    assert not y.requires_grad
    assert y.untyped_storage().resizable()  # PyTorch's own memory, not borrowed through DLPack
    np.testing.assert_allclose(y.float(), norm(x.float(), w.float()), rtol=2e-2, atol=2e-2)


def test_what_is_brought_along_is_returned(bound):
    slot, x, w = bound("rms_norm/standard"), torch.randn(3, 8), torch.randn(8)
    y, rstd = torch.empty(3, 8), torch.empty(3)
    assert slot(x, w, y=y) is y
    got = slot(x, w, rstd=rstd)
    assert got[1] is rstd and torch.equal(got[0], y)
    got = slot(x, w, y=y, want_rstd=True)
    assert got[0] is y and torch.equal(got[1], rstd)
    got = slot(x.numpy(), w.numpy(), y=y.numpy(), want_rstd=True)
    assert type(got[1]) is np.ndarray and (got[1] == rstd.numpy()).all()


def test_lists(bound):
    parts = [torch.randn(3, 4) for _ in range(3)]
    total, scaled = bound("sum_list/standard")(parts, 3.0)
    assert torch.allclose(total, sum(p.sum(0) for p in parts), atol=1e-5)
    assert [type(s) for s in scaled] == [torch.Tensor] * 3
    first = bound("sum_list/standard")([np.ones((2, 4), np.float32)])
    assert type(first[1][0]) is np.ndarray and (first[1][0] == 2).all()


def test_mutation(bound):
    slot, cache = bound("push/standard"), torch.arange(6.0).reshape(2, 3)
    popped = slot(torch.tensor([8.0, 9.0]), cache)
    assert popped.tolist() == [0, 3] and cache.tolist() == [[1, 2, 8], [4, 5, 9]]
    with pytest.raises(ValueError, match="unknown 'order' 'fif'; did you mean 'fifo'"):
        slot(torch.zeros(2), cache, order="fif")


@pytest.mark.parametrize("arguments, error, text", [
    ((torch.ones(2, 8), torch.ones(9)), ValueError, "'weight' has size 9"),
    ((torch.ones(2, 8), torch.ones(8), "x"), TypeError, "'eps' .* is a number; got str"),
    ((torch.ones(2, 8), torch.ones(8), -1.0), ValueError, "'eps' is -1; its range is 0 to 1"),
    ((torch.ones(2, 8), 3), TypeError, "'weight' .* is a tensor"),
    ((None, torch.ones(8)), ValueError, "'x' is missing"),
    ((torch.ones(2, 8), torch.ones(8, dtype=torch.int32)), ValueError, "'weight' is i32"),
    ((torch.ones(2, 8, dtype=torch.complex64), torch.ones(8)), ValueError, "'x' has elements"),
    ((torch.ones([1] * 9), torch.ones(1)), ValueError, "'x' has 9 dimensions; at most 8"),
    ((torch.ones(2, 8, device="meta"), torch.ones(8)), (ValueError, RuntimeError, NotImplementedError,
                                                       BufferError), ""),
])
def test_errors_name_the_parameter(bound, arguments, error, text):
    with pytest.raises(error, match=text):
        bound("rms_norm/standard")(*arguments)


def test_wrong_names(bound):
    with pytest.raises(TypeError, match="unexpected keyword argument 'epsilon'"):
        bound("rms_norm/standard")(torch.ones(2, 8), torch.ones(8), epsilon=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weight'"):
        bound("rms_norm/unweighted")(torch.ones(2, 8), weight=torch.ones(8))
    with pytest.raises(KeyError, match="did you mean 'rms_norm'"):
        kw.explain("rms_nrm")
    with pytest.raises(KeyError, match="did you mean 'explain'"):
        kw.control("explan")
    with pytest.raises(KeyError, match="did you mean 'problem'"):
        kw.control("explain", probelm="x")
    with pytest.raises(ValueError, match=r"field 'problem' is a number \(3\); it takes text"):
        kw.control("explain", problem=3)
    with pytest.raises(TypeError, match="a SlotSet holds OpSlots; got str"):
        kw.bind_slots(["rms_norm"])


def test_unserved_problem_is_not_implemented(run):
    out = run("""
import numpy as np, kernelwright as kw
kw.initialize(device="cpu", overrides={"rms_norm": "native"})
slot = kw.OpSlot("rms_norm", "standard"); kw.bind_slots([slot])
try:
    slot(np.ones((2, 8)), np.ones(8))
except NotImplementedError as error:
    print(error)
""")
    assert "cpu.native.rms_norm: dtype: computes in f32; it does not take f64" in out
    assert "Would accept: cpu.reference.rms_norm, when named" in out


def test_slots_are_values(bound):
    slot = bound("rms_norm/standard")
    assert repr(slot) == "OpSlot(rms_norm/standard -> cpu.native.rms_norm)"
    for other in (copy.deepcopy(slot), pickle.loads(pickle.dumps(slot))):
        assert (other.operation, other.variant, other.bound) == ("rms_norm", "standard", False)
    kw.SlotSet([slot]).unbind()
    assert not slot.bound
    with pytest.raises(RuntimeError, match="is not bound; guard the call"):
        slot(torch.ones(2, 8), torch.ones(8))
    assert "x: T: bf16|f16|f32|f64 [*, C]; input" in type(bound("rms_norm/standard")).__call__.__doc__


def test_slots_that_this_build_lacks_stay_eager():
    slots = [kw.OpSlot("moe_experts", "standard"), kw.OpSlot("rms_norm", "qwen3_5")]
    report = kw.bind_slots(slots)
    assert [slot.bound for slot in slots] == [False, True]
    assert report["slots"][0]["reason"] == "operation not in this build"


def test_prepare_and_explain():
    prepared = kw.prepare("rms_norm/standard x=bf16[?,64] weight=bf16[64]")
    assert prepared["implementation"] == "cpu.native.rms_norm"
    rows = kw.explain("rms_norm/standard x=f64[4,64] weight=f64[64]")["explanations"][0]
    assert rows["selected"] == "cpu.reference.rms_norm"
    assert kw.counters()["plans_built"] >= 1
