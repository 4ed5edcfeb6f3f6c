#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a call costs the host, from Python to enqueued, and where it goes: medians of 15 rounds of 200
calls, the device idle before each round, all ways taking turns. With --host, a report of
`kw bench --protocol host`, the raw launch and the C++ slot stand above them. Needs PyTorch and the
package (tools/gpu/python.sh); Liger's row needs its wheel. `--device cpu` serves development: minima
of many short rounds in the thread's own time, since no machine of ours is idle."""

import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import kernelwright as kw
from kernelwright import _library, _outputs, _signature

NOTHING = "testing.nop"  # of TVM FFI


class Clock:
    def __init__(self, device):
        on_gpu = device == "cuda"
        self.rounds, self.calls = (15, 200) if on_gpu else (200, 25)
        self.drain = torch.cuda.synchronize if on_gpu else lambda: None
        self.summary = statistics.median if on_gpu else min
        self.now = time.perf_counter_ns if on_gpu else time.thread_time_ns

    def take_turns(self, ways):
        times = {name: [] for name in ways}
        for _ in range(self.rounds + 2):
            for name, function in ways.items():
                self.drain()
                begin = self.now()
                for _ in range(self.calls):
                    function()
                times[name].append((self.now() - begin) / self.calls / 1e3)
        return {name: self.summary(values[2:]) for name, values in times.items()}


class Tensors:
    def __init__(self, device):
        rows, width, dtype = (16, 7168, torch.bfloat16) if device == "cuda" else (1, 8, torch.float32)
        self.width = width
        self.x = torch.randn(rows, width, device=device, dtype=dtype)
        self.w = torch.randn(width, device=device, dtype=dtype)
        self.y, self.dy = torch.empty_like(self.x), torch.randn_like(self.x)
        self.xg, self.wg = self.x.clone().requires_grad_(), self.w.clone().requires_grad_()


def liger_call():
    """Liger's function of (x, weight), or None."""
    try:
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction as liger
    except ImportError as error:
        print(f"Liger: {error}", file=sys.stderr)
        return None
    return lambda a, b: liger.apply(a, b, 1e-6, 0.0, "llama", False, None)


def ways_of(t, device, slot):
    """name -> (forward without gradients, forward recording, forward and backward)."""
    op = torch.ops.kw.rms_norm.default
    functions = {
        "Python slot": slot,
        "torch.ops": lambda a, b: op(a, b, 1e-6)[0],
        "F.rms_norm": lambda a, b: F.rms_norm(a, (t.width,), b, 1e-6),
    }
    if device == "cuda" and liger_call() is not None:
        functions["Liger"] = liger_call()

    def both(function):
        return lambda: torch.autograd.grad(function(t.xg, t.wg), (t.xg, t.wg), t.dy)
    rows = {name: (lambda f=f: f(t.x, t.w), lambda f=f: f(t.xg, t.wg), both(f))
            for name, f in functions.items()}
    rows["Python slot, y brought along"] = (lambda: slot(t.x, t.w, y=t.y), None, None)
    return rows


def parts_of(t, device):
    import tvm_ffi
    raw = _library.ffi()["call"]("rms_norm", "standard", device)
    raw.release_gil = device != "cuda"
    made = _outputs.scope(_signature.signature("rms_norm", "standard"), "_f", device)
    layouts, empty = made["_layouts_f"], made["_fast"]
    x, w, y, xg, wg = t.x, t.w, t.y, t.xg, t.wg
    rstd = torch.empty(x.shape[:-1], device=x.device)

    class Empty(torch.autograd.Function):
        """What autograd.Function itself costs."""

        @staticmethod
        def forward(ctx, a, b):
            return torch.empty_like(a)

        @staticmethod
        def backward(ctx, g):
            return g, wg

    class Saving(Empty):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b, rstd)
            return torch.empty_like(a)
    direct, saving = (super(torch.autograd.Function, each).apply for each in (Empty, Saving))
    parts = {
        "a Python function of two arguments": lambda: (lambda a, b: a)(x, w),
        "asking whether dynamo compiles": torch.compiler.is_dynamo_compiling,
        "x.shape as a tuple": lambda: (*x.shape,),
        "torch.empty_like(x)": lambda: torch.empty_like(x),
        "torch.empty(shape, dtype, device)": lambda: torch.empty(x.shape, dtype=x.dtype,
                                                                 device=x.device),
        "y's and rstd's layout, looked up": lambda: layouts[x.shape, x.dtype],
        "the slot's own allocation of y": lambda: empty(*layouts[x.shape, x.dtype][0]),
        "the crossing, y brought along": lambda: raw(x, w, y, False, 1e-6),
        "the crossing, y and rstd brought along": lambda: raw(x, w, y, rstd, 1e-6),
        "the crossing, y allocated by TVM FFI": lambda: raw(x, w, None, False, 1e-6),
        "an empty autograd.Function, allocating": lambda: Empty.apply(xg, wg),
        "the same, Function.apply's Python skipped": lambda: direct(xg, wg),
        "the same, saving three tensors": lambda: saving(xg, wg),
        "the empty Function, forward and backward": lambda: torch.autograd.grad(
            direct(xg, wg), (xg, wg), t.dy),
    }
    nothing = tvm_ffi.get_global_func(NOTHING, allow_missing=True)
    if nothing is not None:
        nothing.release_gil = False
        for count, tensors in enumerate(((), (x,), (x, w), (x, w, y))):
            parts[f"TVM FFI: nothing, of {count} tensors"] = lambda a=tensors: nothing(*a)
    return parts


def host_rows(path):
    """Raw launch and C++ slot, us, from a report of `kw bench`."""
    with open(path, encoding="utf-8") as file:
        timings = {each["protocol"]: each["median"] / 1e3
                   for each in json.load(file)["cases"][0]["benchmark"]}
    return {label: timings[protocol] for label, protocol in
            (("raw launch", "raw_launch"), ("C++ slot", "host_enqueue"))
            if protocol in timings}


def show(table, host):
    raw = next(iter(host.values()), None)
    columns = ("forward", "recording", "fwd + bwd")
    print(f"{'us':38}{''.join(f'{c:>12}' for c in columns)}{'over raw' if raw else '':>12}")
    rows = {name: (value, None, None) for name, value in host.items()} | table
    for name, values in rows.items():
        cells = "".join(f"{'' if v is None else f'{v:.2f}':>12}" for v in values)
        beyond = f"{values[0] - raw:12.2f}" if raw else ""
        if raw and values[1] is not None:
            beyond += f" / {values[1] - raw:.2f}"
        print(f"{name:38}{cells}{beyond}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--host", help="JSON of `kw bench --protocol host`")
    parser.add_argument("--output", help="where everything goes as JSON")
    given = parser.parse_args()
    kw.initialize(device=given.device)
    slot = kw.OpSlot("rms_norm", "standard")
    kw.bind_slots([slot])
    t, clock = Tensors(given.device), Clock(given.device)
    slot(t.xg, t.wg).backward(t.dy)  # binds the backward, registers torch.ops
    ways = ways_of(t, given.device, slot)
    flat = {(name, place): function for name, functions in ways.items()
            for place, function in enumerate(functions) if function is not None}
    # Backward passes leave the caches and the allocator in another state: they have their turns.
    times = clock.take_turns({key: f for key, f in flat.items() if key[1] < 2})
    times |= clock.take_turns({key: f for key, f in flat.items() if key[1] == 2})
    table = {name: tuple(times.get((name, place)) for place in range(3)) for name in ways}
    host = host_rows(given.host) if given.host else {}
    show(table, host)
    parts = clock.take_turns(parts_of(t, given.device))
    print("\nparts")
    for name, value in parts.items():
        print(f"  {value:8.2f}  {name}")
    if given.output:
        name = torch.cuda.get_device_name() if given.device == "cuda" else "cpu"
        with open(given.output, "w", encoding="utf-8") as file:
            json.dump({"device": name, "torch": torch.__version__, "python": sys.version.split()[0],
                       "host_us": host, "columns": ["forward", "recording", "forward and backward"],
                       "table_us": table, "parts_us": parts}, file, indent=2)


if __name__ == "__main__":
    main()
