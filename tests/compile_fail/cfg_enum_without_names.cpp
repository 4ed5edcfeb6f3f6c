// expect: an enum field, and no other, is visited with the names of its values
// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/fields.hpp"

enum class Isa : int { kAvx2, kAvx512 };
constexpr const char* kIsaNames[] = {"avx2", "avx512"};

struct Cfg {
  Isa isa = Isa::kAvx2;
  static constexpr void visit(auto& self, auto& v) {
#ifdef KW_COMPILES
    v("isa", self.isa, kIsaNames);
#else
    v("isa", self.isa);
#endif
  }
};

std::vector<kw::jit::FieldSchema> schema() { return kw::jit::cfg_schema<Cfg>(); }
