// SPDX-License-Identifier: Apache-2.0
// A call in a child process, between unmapped pages: reads outside a tensor fault there, as do
// writes to an input that would be put back, and crashes cost the child alone. It has one thread.
#pragma once

#include <optional>

#include "kernelwright/suite/callable.hpp"
#include "kernelwright/suite/inputs.hpp"

namespace kw::suite {

// Whether this build can: not under ThreadSanitizer, which lets no child start threads.
bool has_page_guards() noexcept;

// Runs `callable` on copies of `placed`, host memory with its inputs filled, twice: every tensor
// directly before an unmapped page, then directly behind one, as near as its alignment allows. The
// problem is prepared. What went wrong, or nothing; refusals are left to others. `seconds`: what a
// call may take.
std::optional<CheckResult> check_pages(const Problem& problem, const PlacedTensors& placed,
                                       Callable& callable, double seconds);

}  // namespace kw::suite
