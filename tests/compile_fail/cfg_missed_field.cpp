// expect: Cfg::visit must name every member once
// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/fields.hpp"

struct Cfg {
  int rows = 1;
  bool aligned = false;
  static constexpr void visit(auto& self, auto& v) {
    v("rows", self.rows);
#ifdef KW_COMPILES
    v("aligned", self.aligned);
#endif
  }
};

std::string text() { return kw::jit::cfg_text(Cfg{}); }
