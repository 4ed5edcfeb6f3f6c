#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call costs the host on this GPU machine, from Python to enqueued, and where it goes:
medians of 15 rounds of 200 calls, the device idle before each round, all ways taking turns.
Needs PyTorch and the package (tools/gpu/python.sh); Liger's row needs its wheel."""

import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import kernelwright as kw
from kernelwright import _library

ROUNDS, CALLS = 15, 200
WIDTH = 7168


def take_turns(ways):
    times = {name: [] for name in ways}
    for _ in range(ROUNDS + 2):
        for name, function in ways.items():
            torch.cuda.synchronize()
            begin = time.perf_counter_ns()
            for _ in range(CALLS):
                function()
            times[name].append((time.perf_counter_ns() - begin) / CALLS / 1e3)
    return {name: statistics.median(values[2:]) for name, values in times.items()}


def main():
    kw.initialize(device="cuda")
    slot = kw.OpSlot("rms_norm", "standard")
    kw.bind_slots([slot])
    x = torch.randn(16, WIDTH, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(WIDTH, device="cuda", dtype=torch.bfloat16)
    y, xg, wg = torch.empty_like(x), x.clone().requires_grad_(), w.clone().requires_grad_()
    dy = torch.randn_like(x)
    slot(xg, wg).backward(dy)
    op = torch.ops.kw.rms_norm.default
    raw = _library.ffi()["call"]("rms_norm", "standard", "cuda")
    ways = {
        "slot, no grad": lambda: slot(x, w),
        "slot, no grad, y brought along": lambda: slot(x, w, y=y),
        "slot, autograd recording": lambda: slot(xg, wg),
        "torch.ops, no grad": lambda: op(x, w, 1e-6),
        "torch.ops, autograd recording": lambda: op(xg, wg, 1e-6),
        "F.rms_norm, no grad": lambda: F.rms_norm(x, (WIDTH,), w, 1e-6),
        "F.rms_norm, autograd recording": lambda: F.rms_norm(xg, (WIDTH,), wg, 1e-6),
    }
    both = {
        "slot": lambda: torch.autograd.grad(slot(xg, wg), (xg, wg), dy),
        "torch.ops": lambda: torch.autograd.grad(op(xg, wg, 1e-6)[0], (xg, wg), dy),
        "F.rms_norm": lambda: torch.autograd.grad(F.rms_norm(xg, (WIDTH,), wg, 1e-6), (xg, wg), dy),
    }
    try:
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction as liger

        def call(a, b):
            return liger.apply(a, b, 1e-6, 0.0, "llama", False, None)
        ways["Liger, no grad"] = lambda: call(x, w)
        ways["Liger, autograd recording"] = lambda: call(xg, wg)
        both["Liger"] = lambda: torch.autograd.grad(call(xg, wg), (xg, wg), dy)
    except ImportError as error:
        print(f"Liger: {error}", file=sys.stderr)
    import tvm_ffi
    nothing = tvm_ffi.get_global_func("testing.nop", allow_missing=True)

    class Empty(torch.autograd.Function):
        """What autograd.Function itself costs."""

        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return y.view_as(y)

        @staticmethod
        def backward(ctx, g):
            return g, None
    parts = {
        "a Python function of two arguments": lambda: (lambda a, b: a)(x, w),
        "torch.empty_like(x)": lambda: torch.empty_like(x),
        "the crossing alone: raw(x, w, y brought along)": lambda: raw(x, w, y, False, 1e-6),
        "the crossing with allocation: raw(x, w)": lambda: raw(x, w, None, False, 1e-6),
        "an empty autograd.Function": lambda: Empty.apply(xg, wg),
    }
    if nothing is not None:
        parts["TVM FFI: a function that does nothing, of 2 tensors"] = lambda: nothing(x, w)
        parts["TVM FFI: the same of 3 tensors"] = lambda: nothing(x, w, y)
    result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
              "forward_us": take_turns(ways), "forward_backward_us": take_turns(both),
              "parts_us": take_turns(parts)}
    for section, rows in result.items():
        if isinstance(rows, dict):
            print(section)
            for name, value in rows.items():
                print(f"  {value:8.2f}  {name}")
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
