// SPDX-License-Identifier: Apache-2.0
// The toy operations of tests/core in this process's catalog, for the Python tests: lists, mutation
// and a composite, which no operation of the build has yet.
#include "core/support/toy_operations.hpp"
#include "kernelwright/ops/catalog.hpp"

extern "C" void kw_add_toy_operations() {
  const auto toys = kw::toy::make_catalog();
  for (const kw::Operation& operation : toys->operations()) {
    kw::builtin_catalog().add(operation);
  }
}
