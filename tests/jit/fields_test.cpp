// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/fields.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace kw::jit {
namespace {

enum class Order : int { kRow, kColumn };
constexpr const char* kOrderNames[] = {"row", "column"};

struct Inner {
  int width = 8;
  bool wide = false;
  static constexpr void visit(auto& self, auto& v) {
    v("width", self.width);
    v("wide", self.wide);
  }
};

struct Cfg {
  int rows = 4;
  bool aligned = true;
  Order order = Order::kRow;
  Inner inner;
  long long limit = 0;
  static constexpr void visit(auto& self, auto& v) {
    v("rows", self.rows);
    v("aligned", self.aligned);
    v("order", self.order, kOrderNames);
    v("inner", self.inner);
    v("limit", self.limit);
  }
};

TEST(Fields, CountsNestedStructsAsOneField) {
  EXPECT_EQ(field_count<Inner>(), 2);
  EXPECT_EQ(field_count<Cfg>(), 5);
}

TEST(Fields, TextHoldsOnlyWhatDiffersFromTheDefault) {
  EXPECT_EQ(cfg_text(Cfg{}), "{}");
  EXPECT_EQ(cfg_text(Cfg{.rows = 5}), "{.rows = 5}");
  EXPECT_EQ(
      cfg_text(Cfg{
          .aligned = false, .order = Order::kColumn, .inner = {.wide = true}, .limit = 1LL << 40}),
      "{.aligned = false, .order = column, .inner = {.wide = true}, .limit = 1099511627776}");
}

TEST(Fields, PinsSetFieldsByName) {
  Cfg cfg;
  apply_pins(cfg, {{"rows", "7"}, {"aligned", "false"}, {"order", "column"}});
  EXPECT_EQ(cfg_text(cfg), "{.rows = 7, .aligned = false, .order = column}");
}

TEST(Fields, PinsThatDoNotFitAreErrors) {
  const auto pin = [](const char* name, const char* value) {
    Cfg cfg;
    apply_pins(cfg, {{name, value}});
  };
  test::expect_error(Code::kNotFound, {"unknown field 'row'", "did you mean 'rows'"},
                     [&] { pin("row", "1"); });
  test::expect_error(Code::kNotFound, {"value of 'order'", "'diagonal'", "row, column"},
                     [&] { pin("order", "diagonal"); });
  test::expect_error(Code::kInvalidArgument, {"rows=many", "takes an integer"},
                     [&] { pin("rows", "many"); });
  test::expect_error(Code::kInvalidArgument, {"aligned=1", "true or false"},
                     [&] { pin("aligned", "1"); });
  test::expect_error(Code::kInvalidArgument, {"inner", "nested"}, [&] { pin("inner", "8"); });
}

}  // namespace
}  // namespace kw::jit
