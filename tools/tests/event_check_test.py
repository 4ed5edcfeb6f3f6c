#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/gpu/event_check.py as far as it goes without a GPU: rotation, reading reports, verdicts."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "gpu"))
import event_check


class EventCheck(unittest.TestCase):
    def test_rotation_covers_four_caches(self):
        cache = 60 << 20
        for nbytes in (1 << 20, 64 << 20, 1 << 30):
            sets = event_check.rotation(nbytes, cache)
            self.assertGreaterEqual(sets * nbytes, 4 * cache)
            self.assertGreaterEqual(sets, 2)
            calls = event_check.calls_for(sets)
            self.assertEqual(calls % sets, 0)
            self.assertGreaterEqual(calls, event_check.LEAST_CALLS)

    def test_medians_of_a_report(self):
        timing = [{"protocol": "graph_cold", "median": 65000.0}, {"protocol": "graph_hot", "median": 50000.0}]
        case = {"status": "passed", "problem": "p", "benchmark": timing}
        self.assertEqual(event_check.medians({"cases": [case]}), {"graph_cold": 65.0, "graph_hot": 50.0})
        case.update(status="failed", reason={"code": "numeric_mismatch"})
        with self.assertRaisesRegex(RuntimeError, "numeric_mismatch"):
            event_check.medians({"cases": [case]})

    def test_three_percent(self):
        rows = event_check.compare({"graph_cold": 102.0, "graph_hot": 96.0},
                                   {"graph_cold": 100.0, "graph_hot": 100.0})
        self.assertEqual([row[4] for row in rows], [True, False])

    def test_five_problems(self):
        self.assertEqual(len({event_check.problem(*shape) for shape in event_check.SHAPES}), 5)

    def test_a_failed_kw_says_why(self):
        with self.assertRaisesRegex(RuntimeError, "exit code 1"):
            event_check.bench("/bin/false", "p")


if __name__ == "__main__":
    unittest.main()
