// SPDX-License-Identifier: Apache-2.0
// The instruction sets that native kernels are compiled for. Free of Highway, so that headers which
// only name an instruction set stay cheap; see targets.hpp for the question whether it is there.
#pragma once

namespace kw::kit::cpu {

enum class Isa : int { kAvx2 = 0, kAvx512 = 1 };

}  // namespace kw::kit::cpu
