// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/args_schema.hpp"

#include <gtest/gtest.h>

namespace kw::jit {
namespace {

enum class Order : int { kRow, kColumn };
constexpr const char* kOrderNames[] = {"row", "column"};

struct Strides {
  long long step[3];
};

struct Args {
  const void* x;
  float* y;
  int rows;
  Order order;
  long long steps[2];
  Strides strides;
  unsigned long long seed;
  float eps;

  static constexpr void visit(auto& self, auto& v) {
    v("x", self.x);
    v("y", self.y);
    v("rows", self.rows);
    v("order", self.order, kOrderNames);
    v("steps", self.steps);
    v("strides", self.strides);
    v("seed", self.seed);
    v("eps", self.eps);
  }
};

TEST(ArgsSchema, HasOffsetSizeAndKindOfEveryField) {
  EXPECT_EQ(schema_json(args_schema<Args>(), sizeof(Args)),
            R"({"size":80,"fields":[)"
            R"({"name":"x","kind":"pointer","offset":0,"size":8},)"
            R"({"name":"y","kind":"pointer","offset":8,"size":8},)"
            R"({"name":"rows","kind":"i32","offset":16,"size":4},)"
            R"({"name":"order","kind":"enum","offset":20,"size":4,"values":["row","column"]},)"
            R"({"name":"steps","kind":"i64","offset":24,"size":16,"count":2},)"
            R"({"name":"strides","kind":"bytes","offset":40,"size":24},)"
            R"({"name":"seed","kind":"u64","offset":64,"size":8},)"
            R"({"name":"eps","kind":"f32","offset":72,"size":4}]})");
}

}  // namespace
}  // namespace kw::jit
