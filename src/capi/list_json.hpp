// SPDX-License-Identifier: Apache-2.0
// Private: what this build has, as JSON for `kw list` and for control requests.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "kernelwright/core/catalog.hpp"

namespace kw::capi {

// "kw.list/1": operations with their implementations, exclusions, known fields and values; only one
// operation unless `only` is empty.
nlohmann::ordered_json catalog_json(const Catalog& catalog, const std::string& only);

// Position in its device's list, from 1.
int rank_of(const Operation& operation, const Implementation& implementation);

}  // namespace kw::capi
