// expect: a Cfg field is a bool, int, long long, enum class : int or a struct of these
// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/fields.hpp"

#ifdef KW_COMPILES
using Tiles = int;
#else
using Tiles = int[2];
#endif

struct Cfg {
  int rows = 1;
  Tiles tiles = {};
  static constexpr void visit(auto& self, auto& v) {
    v("rows", self.rows);
    v("tiles", self.tiles);
  }
};

std::string source() { return kw::jit::cfg_source(Cfg{}); }
