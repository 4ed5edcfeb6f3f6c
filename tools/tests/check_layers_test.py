# SPDX-License-Identifier: Apache-2.0
"""check_layers.py fails on each kind of wrong include and accepts each right one."""

import unittest

import planted
import check_layers


class CheckLayers(planted.PlantedTree):
    def find(self, name, include):
        """Findings when the file `name` includes `include`, spelled with its brackets or quotes."""
        self.plant(name, f"// A file.\n#pragma once\n#include {include}\n")
        # Texts are cached by path; a test has its own root, so no stale answer is possible.
        return check_layers.problems(self.root)[1]

    def test_right_includes(self):
        for name in ("base/a.hpp", "core/a.hpp", "kit/shared/a.hpp", "kit/cpu/a.hpp",
                     "ops/x/contract.hpp", "ops/x/cfg.hpp", "ops/x/native_body.hpp"):
            self.plant_header(f"src/{name}")
        self.plant("src/core/b.cpp", """\
            #include "kernelwright/base/a.hpp"
            #include "kernelwright/core/a.hpp"
            #include <fmt/core.h>
            """)
        self.plant("src/kit/cpu/b.hpp", """\
            #include "kernelwright/kit/shared/a.hpp"
            #include "kernelwright/kit/cpu/a.hpp"
            #include <hwy/highway.h>
            """)
        self.plant("src/ops/x/native.cpp", """\
            #include "kernelwright/ops/x/native_body.hpp"
            #include "kernelwright/kit/cpu/a.hpp"
            """)
        self.plant("src/ops/y/composed.cpp", '#include "kernelwright/ops/x/contract.hpp"\n')
        self.plant("src/ops/catalog.cpp", '#include "kernelwright/ops/x/contract.hpp"\n')
        self.plant("src/ops/x/cuda.cpp", '#include "kernelwright/ops/x/cfg.hpp"\n')
        checked, found = check_layers.problems(self.root)
        self.assert_finds(found)
        self.assertEqual(checked, 13)

    def test_upward(self):
        self.plant_header("src/core/a.hpp")
        self.assert_finds(self.find("src/base/b.hpp", '"kernelwright/core/a.hpp"'),
                          "base stands left of or beside core")

    def test_siblings(self):
        self.plant_header("src/ep/a.hpp")
        self.assert_finds(self.find("src/ops/x/suite.cpp", '"kernelwright/ep/a.hpp"'), "ops stands left")

    def test_backends_are_strangers(self):
        self.plant_header("src/backend/cpu/a.hpp")
        self.assert_finds(self.find("src/backend/cuda/b.cpp", '"kernelwright/backend/cpu/a.hpp"'),
                          "backend/cuda may not see backend/cpu")

    def test_foreign_operation(self):
        self.plant_header("src/ops/x/cfg.hpp")
        self.assert_finds(self.find("src/ops/y/native.cpp", '"kernelwright/ops/x/cfg.hpp"'),
                          "only through its contract.hpp")

    def test_foreign_body(self):
        self.plant_header("src/ops/x/native_body.hpp")
        self.assert_finds(self.find("src/ops/y/native.cpp", '"kernelwright/ops/x/native_body.hpp"'),
                          "kernel body")

    def test_body_in_test(self):
        self.plant_header("src/ops/x/native_body.hpp")
        self.assert_finds(self.find("tests/ops/x/a_test.cpp", '"kernelwright/ops/x/native_body.hpp"'),
                          "kernel body")

    def test_kit_sees_no_layer(self):
        self.plant_header("src/base/a.hpp")
        self.assert_finds(self.find("src/kit/cpu/b.hpp", '"kernelwright/base/a.hpp"'),
                          "kit/cpu may see kit/shared only")

    def test_layer_sees_no_kit(self):
        self.plant_header("src/kit/shared/a.hpp")
        self.assert_finds(self.find("src/runtime/b.cpp", '"kernelwright/kit/shared/a.hpp"'),
                          "runtime may not see kit")

    def test_suite_sees_shared_kit_only(self):
        self.plant_header("src/kit/shared/a.hpp")
        self.plant_header("src/kit/cpu/a.hpp")
        self.assertEqual(self.find("src/suite/b.cpp", '"kernelwright/kit/shared/a.hpp"'), [])
        self.assert_finds(self.find("src/suite/c.cpp", '"kernelwright/kit/cpu/a.hpp"'),
                          "suite may not see kit")

    def test_toolkit_in_kit(self):
        self.assert_finds(self.find("src/kit/cuda/b.cuh", "<cuda_bf16.h>"), "no device toolkit")

    def test_std_in_freestanding(self):
        self.assert_finds(self.find("src/kit/shared/b.hpp", "<cstdint>"), "freestanding")

    def test_std_in_cfg(self):
        self.assert_finds(self.find("src/ops/x/cfg.hpp", "<array>"), "freestanding")

    def test_vendor_in_core(self):
        self.assert_finds(self.find("src/core/b.cpp", "<hwy/highway.h>"), "vendor headers")

    def test_third_party_in_installed_header(self):
        self.assert_finds(self.find("src/core/b.hpp", "<nlohmann/json.hpp>"), "installed header")

    def test_private_header_may(self):
        self.plant("src/core/p.hpp", "// Private: JSON.\n#pragma once\n#include <nlohmann/json.hpp>\n")
        self.assert_finds(self.find("src/core/b.cpp", '"kernelwright/core/p.hpp"'))
        self.assert_finds(self.find("src/core/b.hpp", '"kernelwright/core/p.hpp"'), "is private")

    def test_missing_and_relative(self):
        self.plant_header("src/core/a.hpp")
        self.assert_finds(self.find("src/core/b.cpp", '"a.hpp"'), "no such file")

    def test_unknown_layer(self):
        self.plant_header("src/base/a.hpp")
        self.assert_finds(self.find("src/misc/b.cpp", '"kernelwright/base/a.hpp"'),
                          "'misc' has no place")


if __name__ == "__main__":
    unittest.main()
