// expect: a Cfg field is a bool, int, long long, enum class : int or a struct of these
// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/fields.hpp"

#ifdef KW_COMPILES
using Scale = int;
#else
using Scale = float;
#endif

struct Inner {
  Scale scale = 1;
  static constexpr void visit(auto& self, auto& v) { v("scale", self.scale); }
};

struct Cfg {
  int rows = 1;
  Inner inner;
  static constexpr void visit(auto& self, auto& v) {
    v("rows", self.rows);
    v("inner", self.inner);
  }
};

std::string text() { return kw::jit::cfg_text(Cfg{}); }
