#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what else computes rms_norm on this GPU, as `kw bench` times ours: device time of CUDA graph
replays over rotated buffers of at least four L2 caches, random bf16 data, medians. Forward, forward
with backward and a copy of 1 GiB by a kernel (PyTorch's copy_ takes a copy engine, which is slower)
take turns, so that the copy is the roof of that very process.

  rms_norm_peers.py                       every peer, each in a process of its own: a line of JSON each
  rms_norm_peers.py WHO                   torch, compile, liger, or ours through its Python slot
  rms_norm_peers.py --table LINES BENCH...  the rows of PERFORMANCE.md from those lines and from
                                          reports of kw bench

Needs PyTorch; liger also liger_kernel, and ours the package (tools/gpu/python.sh carries both)."""

import json
import statistics
import subprocess
import sys
import time

# (rows, hidden): milliseconds that PERFORMANCE.md demands forward, and forward with backward
DEMANDS = {(16384, 4096): (0.068, 0.185), (16384, 7168): (0.117, 0.32), (262144, 128): (0.036, 0.10)}
PEERS = ["ours", "liger", "torch", "compile"]
EPS, COPY_BYTES, COPIES = 1e-6, 1 << 30, 4
WARM_SECONDS, ROUNDS = 0.3, 40


def function_of(who, hidden):
    import torch
    if who == "ours":
        import kernelwright
        kernelwright.initialize(device="cuda")
        slot = kernelwright.OpSlot("rms_norm", "standard")
        kernelwright.bind_slots([slot])
        return slot
    if who == "torch":
        return lambda x, w: torch.nn.functional.rms_norm(x, (hidden,), w, EPS)
    if who == "liger":
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        return lambda x, w: LigerRMSNormFunction.apply(x, w, EPS, 0.0, "llama", False, None)

    def eager(x, w):
        wide = x.float()
        return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype)

    torch._dynamo.reset()
    return torch.compile(eager, dynamic=False)


def graph_of(calls):
    """A sample of milliseconds of one call; `calls` run in order in one graph."""
    import torch
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls[:3]:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def sample():
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / len(calls)
    return sample


def measure(who, rows, hidden):
    import torch
    torch.manual_seed(1)
    function = function_of(who, hidden)
    nbytes = rows * hidden * 2
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    count = max(2, -(-4 * cache // (2 * nbytes)) + 1)

    def tensor(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

    weight = tensor(hidden).requires_grad_()
    sets = [(tensor(rows, hidden).requires_grad_(), tensor(rows, hidden)) for _ in range(count)]
    wide = torch.zeros(2, COPY_BYTES // 4, device="cuda")

    def forward(x):
        with torch.no_grad():
            return function(x, weight)

    def both(x, dy):
        return torch.autograd.grad(function(x, weight), (x, weight), dy)

    repeats = -(-16 // count)
    ways = {"copy": graph_of([lambda: torch.neg(wide[0], out=wide[1])] * COPIES),
            "forward": graph_of([lambda x=x: forward(x) for x, _ in sets] * repeats),
            "both": graph_of([lambda x=x, dy=dy: both(x, dy) for x, dy in sets] * repeats)}
    deadline = time.monotonic() + WARM_SECONDS
    while time.monotonic() < deadline:
        for sample in ways.values():
            sample()
    times = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, sample in ways.items():
            times[name].append(sample())
    ms = {name: statistics.median(each) for name, each in times.items()}
    print(json.dumps({"who": who, "rows": rows, "hidden": hidden, "forward_ms": round(ms["forward"], 5),
                      "forward_backward_ms": round(ms["both"], 5),
                      "copy_tb_s": round(2 * COPY_BYTES / ms["copy"] / 1e9, 3)}), flush=True)


def one(who):
    import torch
    for rows, hidden in DEMANDS:
        measure(who, rows, hidden)
        torch.cuda.empty_cache()


def every():
    failed = False
    for who in PEERS:
        try:
            run = subprocess.run([sys.executable, __file__, who], stderr=subprocess.PIPE, text=True,
                                 check=False, timeout=120)
            why = run.stderr.strip().splitlines()[-1:] if run.returncode else None
        except subprocess.TimeoutExpired as error:
            why = str(error)
        if why is not None:
            failed = True
            print(f"{who} failed: {why}", flush=True)
    sys.exit(failed)


def ours_of(paths):
    """{problem: (median us, share of the roof)} of passed cases, device time over rotated buffers."""
    rows = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        except OSError:  # a step that did not run
            continue
        for case in report["cases"]:
            for timing in case.get("benchmark", []):
                if timing["protocol"] == "graph_cold" and case["status"] == "passed":
                    rows[case["problem"]] = (timing["median"] / 1e3,
                                             case["roofline"]["share_of_copy_roof"])
    return rows


def table(lines, reports):
    with open(lines, encoding="utf-8") as file:
        peers = [json.loads(line) for line in file if line.startswith('{"who"')]
    ours = ours_of(reports)
    print(f"{'ms':40}{'ours':>9}{'of roof':>9}{'demand':>9}{'/demand':>9}  best peer, ours/it; ours "
          "and peers in one way of timing")
    for (rows, hidden), demands in DEMANDS.items():
        x = f"x=bf16[{rows},{hidden}]"

        def find(operation, with_rstd, x=x):
            return next((v for k, v in ours.items() if k.startswith(operation + "/") and x in k
                         and ("want_rstd=true" in k) == with_rstd), None)
        forward, saving = find("rms_norm", False), find("rms_norm", True)
        backward = find("rms_norm_backward", False)
        total = (saving[0] + backward[0], None) if saving and backward else None
        for label, demand, key, mine in (("forward", demands[0], "forward_ms", forward),
                                         ("forward saving + backward", demands[1],
                                          "forward_backward_ms", total),
                                         ("backward", None, None, backward)):
            timed = {p["who"]: p[key] for p in peers
                     if key and (p["rows"], p["hidden"]) == (rows, hidden)}
            slot = timed.pop("ours", None)
            best = min(timed, key=timed.get) if timed else None
            us, share = mine or (float("nan"), None)
            cells = [f"{us / 1e3:9.4f}", f"{share:9.3f}" if share else " " * 9,
                     f"{demand:9.3f}{us / 1e3 / demand:9.3f}" if demand else " " * 18]
            if best:
                cells.append(f"  {best} {timed[best]:.4f}, {us / 1e3 / timed[best]:.3f}")
            if best and slot:
                cells.append(f"; slot {slot:.4f}, {slot / timed[best]:.3f}")
            print(f"{label} {rows}x{hidden}".ljust(40) + "".join(cells))


def main():
    if len(sys.argv) > 3 and sys.argv[1] == "--table":
        return table(sys.argv[2], sys.argv[3:])
    if len(sys.argv) == 2 and sys.argv[1] in PEERS:
        return one(sys.argv[1])
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    every()


if __name__ == "__main__":
    main()
