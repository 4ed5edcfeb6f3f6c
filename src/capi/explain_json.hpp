// SPDX-License-Identifier: Apache-2.0
// Private: explanations as JSON, for `kw explain` and for control requests.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "kernelwright/core/explain.hpp"

namespace kw::capi {

// "kw.explain/1".
nlohmann::ordered_json explanations_json(const std::vector<Explanation>& explanations);

}  // namespace kw::capi
