// SPDX-License-Identifier: Apache-2.0
#include "capi/support/toys.hpp"

#include "capi/support/capi.hpp"
#include "core/support/blend.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::test {

void add_toys() {
  Catalog& catalog = builtin_catalog();
  const auto toys = toy::make_full_catalog();
  for (const Operation& operation : toys->operations()) catalog.add(operation);
  toy::register_watchful(catalog);
}

void initialize_with_toys() {
  static const bool done = [] {
    add_toys();
    control({{"command", "initialize"},
             {"device", "cpu"},
             {"overrides", {{"scale", "cpu.careful.scale"}, {"shift", "eager"}}}});
    return true;
  }();
  (void)done;
}

}  // namespace kw::test
