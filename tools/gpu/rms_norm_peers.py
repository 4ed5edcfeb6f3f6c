#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what else computes rms_norm on this GPU, as `kw bench` times ours: device time of CUDA graph
replays over rotated buffers of at least four L2 caches, random bf16 data, medians.

  rms_norm_peers.py                  every peer and shape, each peer in a process of its own
  rms_norm_peers.py WHO ROWS HIDDEN  one peer: torch, compile or liger; one line of JSON

Needs PyTorch; liger also liger_kernel (carry its wheel)."""

import json
import statistics
import subprocess
import sys

SHAPES = [(16384, 4096), (16384, 7168), (262144, 128)]
PEERS = ["torch", "compile", "liger"]
EPS = 1e-6


def function_of(who, hidden):
    import torch
    if who == "torch":
        return lambda x, w: torch.nn.functional.rms_norm(x, (hidden,), w, EPS)
    if who == "liger":
        from liger_kernel.ops.rms_norm import LigerRMSNormFunction
        return lambda x, w: LigerRMSNormFunction.apply(x, w, EPS, 0.0, "llama", False, None)

    def eager(x, w):
        wide = x.float()
        return w * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype)

    return torch.compile(eager, dynamic=False)


def replay_ms(calls, samples=30):
    """Median milliseconds of one call; `calls` run in order in one graph."""
    import torch
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for call in calls[:3]:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    times = []
    for _ in range(samples + 3):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / len(calls))
    return statistics.median(times[3:])


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

    def forward(x):
        with torch.no_grad():
            return function(x, weight)

    def both(x, dy):
        return torch.autograd.grad(function(x, weight), (x, weight), dy)

    repeats = -(-16 // count)
    result = {"who": who, "rows": rows, "hidden": hidden,
              "forward_ms": replay_ms([lambda x=x: forward(x) for x, _ in sets] * repeats),
              "forward_backward_ms":
                  replay_ms([lambda x=x, dy=dy: both(x, dy) for x, dy in sets] * repeats)}
    print(json.dumps(result), flush=True)


def main():
    if len(sys.argv) == 4:
        return measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    failed = False
    for rows, hidden in SHAPES:
        for who in PEERS:
            run = subprocess.run([sys.executable, __file__, who, str(rows), str(hidden)],
                                 capture_output=True, text=True, check=False, timeout=120)
            if run.returncode:
                failed = True
                print(f"{who} {rows}x{hidden} failed: {run.stderr.strip().splitlines()[-1:]}", flush=True)
            else:
                print(run.stdout, end="", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
