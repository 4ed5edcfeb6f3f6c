#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether `kw bench` tells the truth about a GPU: the same kernels, called through the Python slot in
CUDA graphs that PyTorch captured, timed by PyTorch's events over tensors of PyTorch's, with nothing of
src/suite between. Five rms_norm problems; ratios within 3 %. Needs PyTorch, the package, and
KW=path/to/kw (tools/gpu/event_check.sh has all that).

  event_check.py OUT.json     measures both, in turns; exit code 1 when a ratio is off"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

# (variant, rows, hidden): a prefill at two widths, heads, a decode batch, an odd width.
SHAPES = [("qwen3_5", 16384, 4096), ("qwen3_5", 16384, 7168), ("qwen3_5", 262144, 128),
          ("standard", 2048, 7168), ("standard", 16384, 4097)]
TOLERANCE = 0.03
LEAST_CALLS = 64  # in a graph
WARM_SECONDS, SAMPLES = 0.5, 60


def problem(variant, rows, hidden):
    return f"rms_norm/{variant} x=bf16[{rows},{hidden}] weight=bf16[{hidden}]"


def rotation(nbytes, cache):
    """Sets of buffers of so many bytes, so that four caches lie between two uses of one."""
    return max(2, int(4 * cache / nbytes) + 2)


def calls_for(sets):
    return -(-LEAST_CALLS // sets) * sets


def medians(report):
    """{"graph_cold": us, "graph_hot": us} of a report of kw bench with one passed case."""
    case, = report["cases"]
    if case["status"] != "passed":
        raise RuntimeError(f"kw bench: {case['problem']}: {case['status']}: {case.get('reason')}")
    return {timing["protocol"]: timing["median"] / 1e3 for timing in case["benchmark"]}


def bench(kw, text, implementation="cuda.jit.rms_norm"):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        run = subprocess.run([kw, "bench", "--device", "cuda", "--implementation", implementation,
                              "--problem", text, "--protocol", "graph_hot", "--quiet", "--output", path],
                             capture_output=True, text=True, check=False, timeout=240)
        if not os.path.exists(path):
            raise RuntimeError(f"kw bench, exit code {run.returncode}: {run.stderr.strip()[-400:]}")
        with open(path, encoding="utf-8") as file:
            return medians(json.load(file))


def replay_us(torch, calls):
    """Median microseconds of a call; `calls` run in order in one graph, which is warmed first."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        calls[0]()  # prepares
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
        return begin.elapsed_time(end) * 1e3 / len(calls)

    deadline = time.monotonic() + WARM_SECONDS
    while time.monotonic() < deadline:
        sample()
    return statistics.median(sample() for _ in range(SAMPLES))


def events(torch, slots, variant, rows, hidden):
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    count = rotation(4 * rows * hidden + 2 * hidden, cache)
    weight = torch.randn(hidden, device="cuda", dtype=torch.bfloat16)
    sets = [(x, torch.empty_like(x))
            for x in (torch.randn(rows, hidden, device="cuda", dtype=torch.bfloat16) for _ in range(count))]
    slot = slots[variant]
    calls = [lambda x=x, y=y: slot(x, weight, y=y) for x, y in sets]
    cold = replay_us(torch, [calls[i % count] for i in range(calls_for(count))])
    hot = replay_us(torch, [calls[0]] * LEAST_CALLS)
    return {"graph_cold": cold, "graph_hot": hot}


def compare(ours, theirs):
    """[(protocol, kw, independent, ratio, ok)]. The cold figure decides: hot ones of small problems
    depend on what else lies in the cache."""
    rows = []
    for protocol in ("graph_cold", "graph_hot"):
        ratio = ours[protocol] / theirs[protocol]
        rows.append((protocol, ours[protocol], theirs[protocol], ratio, abs(ratio - 1) <= TOLERANCE))
    return rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import torch

    import kernelwright

    kernelwright.initialize(device="cuda", overrides={"rms_norm": "jit"})
    slots = {variant: kernelwright.OpSlot("rms_norm", variant) for variant in {s[0] for s in SHAPES}}
    kernelwright.bind_slots(list(slots.values()))
    results, bad = [], 0
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}", flush=True)
    for variant, rows, hidden in SHAPES:
        text = problem(variant, rows, hidden)
        try:
            # Ours before and after the independent one, so that a drift of the clocks shows.
            first = bench(os.environ["KW"], text)
            theirs = events(torch, slots, variant, rows, hidden)
            torch.cuda.empty_cache()
            second = bench(os.environ["KW"], text)
        except Exception as error:  # one problem must not cost the others their figures
            bad += 1
            results.append({"problem": text, "error": str(error)})
            print(f"FAIL {text}: {error}", flush=True)
            continue
        ours = {name: (first[name] + second[name]) / 2 for name in theirs}
        for protocol, kw, independent, ratio, ok in compare(ours, theirs):
            deciding = protocol == "graph_cold"
            bad += deciding and not ok
            results.append({"problem": text, "protocol": protocol, "kw_us": kw, "kw_runs_us":
                            [first[protocol], second[protocol]], "events_us": independent,
                            "ratio": ratio, "ok": ok})
            mark = "ok  " if ok else "FAIL" if deciding else "note"
            print(f"{mark} {protocol:10} kw {kw:9.3f} us, events {independent:9.3f} us, ratio {ratio:.4f}  "
                  f"{text}", flush=True)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"device": torch.cuda.get_device_name(0), "torch": torch.__version__,
                   "tolerance": TOLERANCE, "results": results}, file, indent=1)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
