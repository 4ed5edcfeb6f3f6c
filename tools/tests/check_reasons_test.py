# SPDX-License-Identifier: Apache-2.0
"""check_reasons.py finds a code that nothing gives, that no document explains, or that one list lacks."""

import unittest

import planted
import check_reasons


class CheckReasons(planted.PlantedTree):
    def find(self, source="x = Reason::kOobRead; y = Reason::kCrash;\n", words="`oob_read` `crash`",
             schema='["oob_read", "crash"]'):
        self.plant(check_reasons.LIST, 'kNames{"none",\n "oob_read", "crash"};\nReason::kCrash\n')
        self.plant(check_reasons.SCHEMA, '{"$defs": {"reason_code": {"enum": %s}}}' % schema)
        self.plant("docs/numerics.md", words)
        self.plant("docs/benchmarking.md", "")
        self.plant("src/suite/a.cpp", source)
        return check_reasons.problems(self.root)[1]

    def test_given_and_explained(self):
        self.assert_finds(self.find())

    def test_nothing_gives_it(self):
        self.assert_finds(self.find(source="x = Reason::kOobRead;\n"), "'crash' is a code that nothing")

    def test_no_document(self):
        self.assert_finds(self.find(words="`crash`"), "'oob_read' is in none of")

    def test_longer_schema(self):
        self.assert_finds(self.find(schema='["oob_read", "crash", "old"]'), "'old' is not in both")

    def test_shorter_schema(self):
        self.assert_finds(self.find(schema='["oob_read"]'), "'crash' is not in both")


if __name__ == "__main__":
    unittest.main()
