// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/core/dims.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

TEST(Dims, ShapesReadAndPrintAsWritten) {
  for (const char* text : {"[]", "[C]", "[*, C]", "[*]", "[64]", "[B, S+1]", "[2*C+1]", "[S*T]",
                           "[3*S*T-2, 7]", "[S-1]"}) {
    EXPECT_EQ(shape_text(parse_shape(text)), text);
  }
  EXPECT_EQ(shape_text(parse_shape("[ * ,C*2 , 2*3*C , 1+1 ]")), "[*, 2*C, 6*C, 2]");
}

TEST(Dims, BadShapesAreDefectsOfTheContract) {
  for (const char* text : {"", "[", "C", "[C", "C]"}) {
    expect_error(Code::kInternal, {"shape '", "is not of the form [*, C]"},
                 [&] { parse_shape(text); });
  }
  expect_error(Code::kInternal, {"'*' stands first and once"}, [] { parse_shape("[C, *]"); });
  expect_error(Code::kInternal, {"'*' stands first and once"}, [] { parse_shape("[*, *]"); });
  for (const char* text : {"[A*B*C]", "[C+D]", "[C+]", "[C/2]", "[,C]", "[2C]", "[C*]"}) {
    expect_error(Code::kInternal, {"dimension '", "a*S*T+b"}, [&] { parse_shape(text); });
  }
}

TEST(Dims, DTypeRulesReadAndPrintAsWritten) {
  for (const char* text :
       {"f32", "T", "T: bf16|f16|f32", "W: T|f32", "acc(T)", "i32|i64", "T|f32"}) {
    EXPECT_EQ(dtype_rule_text(parse_dtype_rule(text)), text);
  }
  for (const char* text : {"", "T:", "f32|", "2T", "acc(T", "T: f32 bf16"}) {
    expect_error(Code::kInternal, {"neither a dtype, a symbol nor acc(symbol)"},
                 [&] { parse_dtype_rule(text); });
  }
}

TEST(Dims, EvaluationNeedsEverySymbol) {
  SymbolTable symbols;
  const Dim dim = parse_shape("[3*S*T-2]").dims[0];
  EXPECT_EQ(evaluate(dim, symbols), std::nullopt);
  symbols.bind_size("S", 5, "x[0]");
  EXPECT_EQ(evaluate(dim, symbols), std::nullopt);
  symbols.bind_size("T", 2, "x[1]");
  EXPECT_EQ(evaluate(dim, symbols), 28);
  EXPECT_EQ(evaluate(parse_shape("[17]").dims[0], symbols), 17);
  EXPECT_EQ(symbols.size("S")->origin, "x[0]");
  EXPECT_EQ(symbols.size("U"), nullptr);
}

TEST(Dims, FreeSymbolsMakeFreeDimsAndOverflowNoSmallOnes) {
  SymbolTable symbols;
  symbols.bind_size("F", kFreeDim, "x[0]");
  symbols.bind_size("H", std::int64_t{1} << 62, "x[1]");
  EXPECT_EQ(evaluate(parse_shape("[2*F+1]").dims[0], symbols), kFreeDim);
  EXPECT_EQ(evaluate(parse_shape("[H*F]").dims[0], symbols), kFreeDim);
  EXPECT_EQ(evaluate(parse_shape("[4*H]").dims[0], symbols),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(evaluate(parse_shape("[H*H]").dims[0], symbols),
            std::numeric_limits<std::int64_t>::max());
}

TEST(Dims, AdmittedDTypesFollowTheSymbols) {
  SymbolTable symbols;
  using Types = std::vector<DType>;
  EXPECT_EQ(admitted(parse_dtype_rule("T|f32"), symbols), Types{DType::kF32});
  EXPECT_TRUE(admitted(parse_dtype_rule("acc(T)"), symbols).empty());
  symbols.bind_type("T", DType::kBF16, "x");
  EXPECT_EQ(admitted(parse_dtype_rule("T|f32"), symbols), (Types{DType::kBF16, DType::kF32}));
  EXPECT_EQ(admitted(parse_dtype_rule("acc(T)"), symbols), Types{DType::kF32});
}

}  // namespace
}  // namespace kw
