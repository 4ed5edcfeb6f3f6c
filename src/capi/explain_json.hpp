// SPDX-License-Identifier: Apache-2.0
// Explanations as JSON.
#pragma once

#include <string>
#include <vector>

#include "kernelwright/core/explain.hpp"

namespace kw::capi {

// kw.explain/1: {"explanations": [...]}, each with its choices and every candidate's verdict.
std::string explain_json(const std::vector<Explanation>& explanations);

}  // namespace kw::capi
