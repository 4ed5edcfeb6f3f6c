#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `kw compare` finds a difference where there is none: compares an implementation with itself
over and over and counts the verdicts. A report, not a test: it takes minutes, and a busy machine is part
of the question.

  aa_report.py --kw build/release/bin/kw --implementation NAME --count 200 [--output FILE.json] PROBLEM..."""

import argparse
import json
import os
import subprocess
import sys

ALPHA = 0.01  # nominal, of one comparison
MOST = 9      # of 200: what chance exceeds once in ten million at ALPHA


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kw", default="build/release/bin/kw")
    parser.add_argument("--implementation", required=True)
    parser.add_argument("--count", type=int, default=200, help="comparisons in all")
    parser.add_argument("--output", help="JSON with every ratio")
    parser.add_argument("problems", nargs="+")
    return parser.parse_args()


def compare(options, seed):
    command = [options.kw, "compare", options.implementation, options.implementation, "--json",
               "--seed", str(seed)]
    for problem in options.problems:
        command += ["--problem", problem]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout)


def main():
    options = arguments()
    rows, seed = [], 0
    while len(rows) < options.count:
        seed += 1
        report = compare(options, seed)
        for row in report["comparisons"]:
            if row["status"] != "passed":
                sys.exit(f"{row['problem']}: {row['reason']['message']}")
            rows.append({name: row[name] for name in ("problem", "verdict", "ratio", "ci99", "delta", "flags")}
                        | {"load": os.getloadavg()[0]})
        print(f"\r{len(rows)} of {options.count}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    rows = rows[:options.count]
    counts = {name: sum(row["verdict"] == name for row in rows)
              for name in ("SAME", "AMBIGUOUS", "FASTER", "SLOWER")}
    false = counts["FASTER"] + counts["SLOWER"]
    loads = sorted(row["load"] for row in rows)
    deltas = sorted(row["delta"] for row in rows)
    worst = max(rows, key=lambda row: abs(row["ratio"] - 1))
    print(f"{len(rows)} comparisons of {options.implementation} with itself: "
          + ", ".join(f"{number} {name}" for name, number in counts.items()))
    print(f"false verdicts {false}, at most {MOST} of 200 allowed at alpha {ALPHA}")
    print(f"delta: median {deltas[len(rows) // 2]:.3f}, largest {deltas[-1]:.3f}; ratio furthest from 1: "
          f"{worst['ratio']:.4f}; load average {loads[0]:.1f} to {loads[-1]:.1f} on {os.cpu_count()} cores")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    sys.exit(false > MOST)


if __name__ == "__main__":
    main()
