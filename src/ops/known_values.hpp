// SPDX-License-Identifier: Apache-2.0
// Configuration fields and values that training configurations in the field use and that nothing in
// the tree serves: data for the catalog, which itself names no operation.
#pragma once

#include "kernelwright/core/catalog.hpp"

namespace kw::ops {

void add_known_values(Catalog& catalog);

}  // namespace kw::ops
