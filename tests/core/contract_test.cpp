// SPDX-License-Identifier: Apache-2.0
// The recorder's table, and every way in which a contract can contradict itself.
#include "kernelwright/core/contract.hpp"

#include <gtest/gtest.h>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

struct FreeArgs {
  TensorView x, y;
  double eps = 1;
  std::optional<double> gain;
  std::int64_t count = 0;
  toy::Edge edge = toy::Edge::kWrap;

  void visit(Recorder& v) { script(v, *this); }
  static inline void (*script)(Recorder&, FreeArgs&) = nullptr;
};

ContractInfo plain_info() {
  ContractInfo info;
  info.operation = "free";
  info.variants = {{"one", "", ToleranceClass::kMovement}, {"two", "", ToleranceClass::kMovement}};
  return info;
}

void expect_defect(std::initializer_list<std::string_view> words,
                   void (*script)(Recorder&, FreeArgs&), ContractInfo info = plain_info()) {
  FreeArgs::script = script;
  expect_error(Code::kInternal, words, [&] { make_contract<FreeArgs>(info); });
}

TEST(Contract, DefectsAreFoundWhenItIsFirstUsed) {
  expect_defect({"contract of 'free'", "'x' is listed twice"}, [](Recorder& v, FreeArgs& a) {
    v.input("x", a.x, "[4]", "f32", "");
    v.output("x", a.y, "[4]", "f32", "");
  });
  expect_defect({"'x' names the unknown variant 'three'"}, [](Recorder& v, FreeArgs& a) {
    v.input("x", a.x, "[4]", "f32", "").only_in({"one", "three"});
  });
  expect_defect({"default of 'eps' is outside its range"},
                [](Recorder& v, FreeArgs& a) { v.scalar("eps", a.eps, "").range(2, 3); });
  expect_defect({"default of 'count' is outside its range"}, [](Recorder& v, FreeArgs& a) {
    v.scalar("count", a.count, "").range(2, 3).only_in({"one"});
  });
  expect_defect({"optional scalar 'eps' needs a std::optional field"},
                [](Recorder& v, FreeArgs& a) { v.scalar("eps", a.eps, "").optional(); });
  expect_defect({"'y' may alias the unknown 'z'"}, [](Recorder& v, FreeArgs& a) {
    v.output("y", a.y, "[4]", "f32", "").may_alias("z");
  });
  expect_defect({"only an output may alias, and only an input"}, [](Recorder& v, FreeArgs& a) {
    v.input("x", a.x, "[4]", "f32", "").may_alias("y");
    v.output("y", a.y, "[4]", "f32", "");
  });
  expect_defect({"'x' uses the symbol 'C', which is neither declared nor an integer scalar"},
                [](Recorder& v, FreeArgs& a) { v.input("x", a.x, "[C]", "f32", ""); });
  expect_defect({"'x' uses the symbol 'eps'"}, [](Recorder& v, FreeArgs& a) {
    v.scalar("eps", a.eps, "");
    v.input("x", a.x, "[eps]", "f32", "");
  });
  expect_defect({"'x' uses the dtype symbol 'T', which no parameter declares"},
                [](Recorder& v, FreeArgs& a) { v.input("x", a.x, "[4]", "T", ""); });
  expect_defect({"'x' uses the dtype symbol 'U'"},
                [](Recorder& v, FreeArgs& a) { v.input("x", a.x, "[4]", "T: acc(U)", ""); });
  expect_defect({"dimension '4/2'"},
                [](Recorder& v, FreeArgs& a) { v.input("x", a.x, "[4/2]", "f32", ""); });
  static TensorView elsewhere;
  expect_defect({"'x' is recorded with a field outside its Args object"},
                [](Recorder& v, FreeArgs&) { v.input("x", elsewhere, "[4]", "f32", ""); });
}

TEST(Contract, NeedsANameAndVariants) {
  const auto nothing = [](Recorder&, FreeArgs&) {};
  ContractInfo info = plain_info();
  info.variants.clear();
  expect_defect({"a name and at least one variant"}, nothing, info);
  info = plain_info();
  info.operation.clear();
  expect_defect({"a name and at least one variant"}, nothing, info);
  info = plain_info();
  info.variants[1].name = "one";
  expect_defect({"variant 'one' is listed twice"}, nothing, info);
}

TEST(Contract, OverAlignedArgsAreRefused) {
  struct alignas(64) Wide {
    double eps = 1;
    void visit(Recorder& v) { v.scalar("eps", eps, ""); }
  };
  expect_error(Code::kInternal, {"over-aligned"}, [] { make_contract<Wide>(plain_info()); });
}

TEST(Contract, TableHoldsWhatVisitSaid) {
  const Contract& contract = toy::BlendArgs::contract();
  const Parameter& table = contract.parameter("table");
  EXPECT_EQ(table.role, Role::kInput);
  EXPECT_TRUE(table.is_optional);
  EXPECT_EQ(shape_text(table.shape), "[K*G, 2*C+1]");
  EXPECT_EQ(table.offset, offsetof(toy::BlendArgs, table));
  const Parameter& edge = contract.parameter("edge");
  EXPECT_EQ(edge.kind, Kind::kEnum);
  EXPECT_EQ(edge.default_value, 1);
  EXPECT_EQ(edge.high, 2);
  EXPECT_EQ(edge.variability, Variability::kStatic);
  EXPECT_EQ(contract.parameter("eps").variability, Variability::kDynamic);
  EXPECT_TRUE(contract.parameter("gain").is_optional_field);
  EXPECT_TRUE(contract.parameter("rstd").is_saved);
  EXPECT_EQ(contract.parameter("low").output_group, "bounds");
  EXPECT_FALSE(contract.parameter("weight").in_variant("bare"));
  EXPECT_EQ(contract.field.name, "blend_implementation");
  EXPECT_EQ(contract.symbol("K")->high, 1000);
  EXPECT_EQ(contract.symbol("Q"), nullptr);
  ASSERT_EQ(contract.call_steps.size(), contract.parameters.size());
  EXPECT_EQ(toy::ShiftArgs::contract().call_steps[1].alias_of, 0);
  EXPECT_EQ(toy::PushArgs::contract().field.name, "push_backend");
}

TEST(Contract, UnknownNamesSayTheNearest) {
  const Contract& contract = toy::BlendArgs::contract();
  expect_error(
      Code::kNotFound,
      {"blend", "unknown parameter 'weigth'", "did you mean 'weight'?", "known: x, weight"},
      [&] { contract.parameter("weigth"); });
  expect_error(Code::kNotFound,
               {"blend", "unknown variant 'bar'", "did you mean 'bare'?", "known: weighted, bare"},
               [&] { contract.variant_index("bar"); });
}

}  // namespace
}  // namespace kw
