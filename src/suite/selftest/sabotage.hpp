// SPDX-License-Identifier: Apache-2.0
// The ways in which a kernel can be wrong or a benchmark deceived, each planted in a probe
// operation of its own. numerics has to find every one of them, or it cannot be believed about
// anything else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernelwright/kit/shared/probe.hpp"
#include "kernelwright/suite/fill.hpp"
#include "kernelwright/suite/result.hpp"

namespace kw::suite {

using kit::Sabotage;

struct Saboteur {
  Sabotage sabotage = Sabotage::kNone;
  std::string_view what;
  std::string_view problem;  // on which it shows
  Fill fill = Fill::kNormal;
  std::vector<Reason> codes;  // any of these is a kill
  bool asynchronous = false;  // needs streams
  bool needs_page_guards = false;

  std::string_view name() const noexcept {
    return kit::kSabotageNames[static_cast<std::size_t>(sabotage)];
  }
  // Why it is planted on devices in software only; "" when everywhere.
  std::string_view not_on_device() const noexcept;
};

const std::vector<Saboteur>& saboteurs();

}  // namespace kw::suite
