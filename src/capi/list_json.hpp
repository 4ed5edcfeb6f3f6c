// SPDX-License-Identifier: Apache-2.0
// What this build has, as JSON. Touches no device.
#pragma once

#include <string>
#include <string_view>

#include "kernelwright/core/catalog.hpp"

namespace kw::capi {

// kw.list/1: every operation's contract and implementations, what was excluded, and the vocabulary
// of configuration. `only`: one operation of the catalog; "" for all.
std::string list_json(const Catalog& catalog, std::string_view only);

// Position within the list of its device, from 1.
int rank_of(const Operation& operation, const Implementation& implementation);

}  // namespace kw::capi
