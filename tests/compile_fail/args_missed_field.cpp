// expect: Args::visit must name every member once
// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/args_schema.hpp"

struct Args {
  const void* x;
  void* y;
  long long rows;
  static constexpr void visit(auto& self, auto& v) {
#ifdef KW_COMPILES
    v("x", self.x);
    v("y", self.y);
    v("rows", self.rows);
#else
    v("x", self.x);
    v("rows", self.rows);
#endif
  }
};

std::vector<kw::jit::ArgField> schema() { return kw::jit::args_schema<Args>(); }
