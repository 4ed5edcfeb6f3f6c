// SPDX-License-Identifier: Apache-2.0
// A process of the C interface whose catalog also holds the toy operations of core.
#pragma once

namespace kw::test {

// Once per process: adds the toys, and initializes on the CPU with "cpu.careful.scale", which
// watches its workspace, and shift switched to the model's own code.
void initialize_with_toys();

// Only adds them; the catalog must not be frozen.
void add_toys();

}  // namespace kw::test
