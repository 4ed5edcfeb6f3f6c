// SPDX-License-Identifier: Apache-2.0
// Text and back: every complaint of the parser, canonical form, and the identity on random
// problems.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/problem.hpp"
#include "support/expect_error.hpp"

namespace kw {
namespace {

using test::expect_error;

class ProblemTextTest : public testing::Test {
 protected:
  Problem parse(const std::string& text) const { return parse_problem(text, *catalog); }
  std::string canonical(const std::string& text) const { return problem_text(parse(text)); }
  void rejects(const std::string& text, std::initializer_list<std::string_view> words,
               Code code = Code::kInvalidArgument) const {
    SCOPED_TRACE(text);
    expect_error(code, words, [&] { parse(text); });
  }

  std::unique_ptr<Catalog> catalog = toy::make_full_catalog();
};

TEST_F(ProblemTextTest, DefaultsAndNoiseAreLeftOut) {
  EXPECT_EQ(canonical("  blend/bare   G=2 flip=false edge=clamp eps=1e-6 x=bf16[3,8]:[8,1]@16 "),
            "blend/bare x=bf16[3,8] G=2");
  EXPECT_EQ(canonical("blend/bare flip=true G=2 x=bf16[3,8] edge=zero eps=0.001"),
            "blend/bare x=bf16[3,8] eps=0.001 G=2 flip=true edge=zero");
  EXPECT_EQ(canonical("scale x=f32[4]"), "scale/standard x=f32[4]");
  EXPECT_EQ(canonical("scale x=f32[4] y=f32[4]"), "scale/standard x=f32[4]")
      << "as it would be inferred";
  EXPECT_EQ(canonical("scale x=f32[4] y=f32[4]@4"), "scale/standard x=f32[4] y=f32[4]@4");
  EXPECT_EQ(canonical("scale x=f32[4] y=f32[4]:[2]"), "scale/standard x=f32[4] y=f32[4]:[2]");
  EXPECT_EQ(canonical("blend/bare G=1 x=bf16[3,8] y=f32[3,8]"),
            "blend/bare x=bf16[3,8] y=f32[3,8] G=1")
      << "not the dtype that would be inferred";
  EXPECT_EQ(canonical("blend/bare G=1 x=f32[3,8] y=f32[3,8]"), "blend/bare x=f32[3,8] G=1");
  EXPECT_EQ(canonical("blend/bare G=1 x=bf16[?,8]:[16,1]"), "blend/bare x=bf16[?,8]:[16,1] G=1");
  EXPECT_EQ(canonical("scale x=f32[0,4]:[9,9]"), "scale/standard x=f32[0,4]")
      << "nothing has no layout";
}

TEST_F(ProblemTextTest, WantsAndNeedsGrad) {
  EXPECT_EQ(canonical("blend/bare G=1 x=bf16[3,8] want_high=true"),
            "blend/bare x=bf16[3,8] want_low=true want_high=true G=1");
  EXPECT_EQ(canonical("blend/bare G=1 x=bf16[3,8] needs_grad=true"),
            "blend/bare x=bf16[3,8] want_rstd=true G=1");
  EXPECT_EQ(canonical("blend/bare G=1 x=bf16[3,8] needs_grad=false want_rstd=false"),
            "blend/bare x=bf16[3,8] G=1");
  EXPECT_EQ(canonical("blend/bare G=1 x=bf16[3,8] high=f32[3]@4 want_low=true"),
            "blend/bare x=bf16[3,8] want_low=true high=f32[3]@4 G=1")
      << "one of a group with a layout of its own";
  EXPECT_EQ(canonical("sum_list/standard parts=f32[4]*2 want_peak=true"),
            "sum_list/standard parts=f32[4]*2 want_peak=true");
}

TEST_F(ProblemTextTest, Lists) {
  EXPECT_EQ(canonical("sum_list/standard parts=(f32[2,4];f32[2,4])"),
            "sum_list/standard parts=f32[2,4]*2");
  EXPECT_EQ(canonical("sum_list/standard parts=(f32[2,4]:[8,1];f32[2,4]@4)"),
            "sum_list/standard parts=(f32[2,4]:[8,1];f32[2,4]@4)");
  EXPECT_EQ(canonical("sum_list/standard parts=f32[2,4]:[8,1]@8*3"),
            "sum_list/standard parts=f32[2,4]:[8,1]@8*3");
  EXPECT_EQ(canonical("sum_list/standard parts=f32[4]*2 scaled=f32[4]@8*2"),
            "sum_list/standard parts=f32[4]*2 scaled=f32[4]@8*2");
}

TEST_F(ProblemTextTest, WholeNumbersStayWhole) {
  for (const char* window : {"100000", "1000000", "1048576"}) {
    const std::string text = std::string("blend/bare x=bf16[3,8] window=") + window + " G=3";
    EXPECT_EQ(canonical(text), text);
  }
}

TEST_F(ProblemTextTest, NamesThatDoNotExist) {
  rejects("", {"the problem text is empty", "operation/variant name=value"});
  rejects("blnd/bare x=f32[4]",
          {"problem 'blnd/bare x=f32[4]'", "unknown operation 'blnd'; did you mean 'blend'?"},
          Code::kNotFound);
  rejects("blend x=f32[4]",
          {"'blend' has several variants; write one of blend/weighted, blend/bare"});
  rejects("blend/bear x=f32[4]", {"blend: unknown variant 'bear'; did you mean 'bare'?"},
          Code::kNotFound);
  rejects("scale/ x=f32[4]", {"unknown variant ''"}, Code::kNotFound);
  rejects("scale x=f32[4] z=3", {"unknown parameter 'z'", "known: x, y, scale"});
  rejects("blend/bare x=f32[3,4] G=1 want_rtsd=true",
          {"unknown parameter 'want_rtsd'; did you mean 'want_rstd'?"});
  rejects("blend/bare x=f32[3,4] G=1 want_y=true", {"'want_y': 'y' is not an optional output"});
  rejects("blend/bare x=f32[3,4] G=1 want_x=true", {"'want_x': 'x' is not an optional output"});
}

TEST_F(ProblemTextTest, FormOfAssignments) {
  rejects("scale x", {"'x' is not of the form name=value"});
  rejects("scale =3", {"'=3' is not of the form name=value"});
  rejects("scale x=f32[4] x=f32[4]", {"'x' is given twice"});
  rejects("scale x=f32[4] scale=1 scale=2", {"'scale' is given twice"});
  rejects("scale x=f32[4] scale=fast", {"'scale' is 'fast'; it takes a number"});
  rejects("scale x=f32[4] scale=1,5", {"'scale' is '1,5'; it takes a number"});
  rejects("blend/bare x=f32[3,4] G=1.5", {"'G' is '1.5'; it takes an integer"});
  rejects("blend/bare x=f32[3,4] G=1 flip=yes", {"'flip' is 'yes'; it takes true or false"});
  rejects("blend/bare x=f32[3,4] G=1 needs_grad=1",
          {"'needs_grad' is '1'; it takes true or false"});
  rejects("blend/bare x=f32[3,4] G=1 edge=clmp",
          {"unknown value of 'edge' 'clmp'; did you mean 'clamp'?", "known: wrap, clamp, zero"});
}

TEST_F(ProblemTextTest, FormOfTensors) {
  rejects("scale x=4", {"'x' is '4'; a tensor looks like bf16[4096,7168]"});
  rejects("scale x=f32]4[", {"a tensor looks like"});
  rejects("scale x=f33[4]", {"unknown dtype 'f33'; did you mean 'f32'?", "known: f64, f32"});
  rejects("scale x=f32[4,]", {"'' is not a size (a non-negative integer or '?')"});
  rejects("scale x=f32[-4]", {"'-4' is not a size"});
  rejects("scale x=f32[4x]", {"'4x' is not a size"});
  rejects("scale x=f32[1,1,1,1,1,1,1,1,1]", {"'x' has 9 dimensions; at most 8"});
  rejects("scale x=f32[4]:[1", {"the strides lack a ']'"});
  rejects("scale x=f32[4]:[1,1]", {"1 dimensions but 2 strides"});
  rejects("scale x=f32[4]:[?]", {"'?' is not a stride (an integer)"});
  rejects("scale x=f32[4]@3", {"alignment '3' is not a power of two from the element size to 16"});
  rejects("scale x=f32[4]@2", {"alignment '2'"});
  rejects("scale x=f32[4]@32", {"alignment '32'"});
  rejects("scale x=f32[4]@", {"alignment ''"});
  rejects("scale x=f32[4]~", {"'~' does not name a fill class"});
  rejects("scale x=f32[4]~Label!", {"'~Label!' does not name a fill class"});
  rejects("scale x=f32[4]tail",
          {"cannot read 'tail'; after the sizes come :[strides], @align and ~content"});
  rejects("scale x=f32[4]@8:[1]", {"alignment '8:[1]'"});
  rejects("sum_list/standard parts=f32[4]",
          {"a tensor list looks like f32[8,4]*3 or (f32[8,4];f32[2,4])"});
  rejects("sum_list/standard parts=f32[4]*-1", {"a tensor list looks like"});
  rejects("sum_list/standard parts=f32[4]*99999", {"a tensor list looks like"});
  rejects("sum_list/standard parts=(f32[4];)", {"'parts' is ''; a tensor looks like"});
}

TEST_F(ProblemTextTest, ComplaintsQuoteTheWholeProblem) {
  rejects("scale x=f32[4] scale=fast", {"problem 'scale x=f32[4] scale=fast': "});
}

TEST(ExpandProblemText, GivesTheCrossProductInOrder) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(expand_problem_text("scale x=f32[4]"), Texts{"scale x=f32[4]"});
  EXPECT_EQ(expand_problem_text("scale x={f32,bf16}[{1, 16},64]"),
            (Texts{"scale x=f32[1,64]", "scale x=f32[16,64]", "scale x=bf16[1,64]",
                   "scale x=bf16[16,64]"}));
  EXPECT_EQ(expand_problem_text("op/{a,b}"), (Texts{"op/a", "op/b"}));
  EXPECT_EQ(expand_problem_text("a {b}"), (Texts{"a b"}));
  expect_error(Code::kInvalidArgument, {"a value list is written {a,b} and is not nested"},
               [] { expand_problem_text("x={a,{b}}"); });
  expect_error(Code::kInvalidArgument, {"a value list is written {a,b}"},
               [] { expand_problem_text("x={a"); });
  expect_error(Code::kInvalidArgument, {"a '}' without its '{'"},
               [] { expand_problem_text("x=a}"); });
}

// Random text from the tables, mostly illegal; what check() accepts must survive the way to text
// and back unchanged, and its text must be a fixed point.
class Fuzz {
 public:
  explicit Fuzz(std::uint64_t seed) : random_(seed) {}

  std::string text(const Contract& contract) {
    const Variant& variant = contract.variants[random_() % contract.variants.size()];
    rows_.assign(pick(0, 2), 0);
    for (auto& size : rows_) size = pick(0, 4);
    columns_ = pick(1, 5);
    std::string text = contract.operation + "/" + variant.name;
    for (const Parameter& p : contract.parameters) {
      if (!p.in_variant(variant.name)) continue;
      const bool needed = p.role != Role::kOutput && p.is_tensor() && !p.is_optional;
      if (!needed && pick(0, 2) != 0 && p.name != "G") continue;
      if (p.role == Role::kOutput && p.is_optional && pick(0, 1) == 0)
        text += " want_" + p.name + "=true";
      else
        text += " " + p.name + "=" + value(p);
    }
    return text;
  }

 private:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  std::string value(const Parameter& p) {
    switch (p.kind) {
      case Kind::kTensor:
        return tensor(p);
      case Kind::kTensorList: {
        const std::string one = tensor(p);
        if (pick(0, 1) == 0) return one + "*" + std::to_string(pick(1, 4));
        return "(" + one + ";" + (pick(0, 1) == 0 ? one : tensor(p)) + ")";
      }
      case Kind::kBool:
        return pick(0, 1) == 0 ? "true" : "false";
      case Kind::kEnum:
        return p.choices[static_cast<std::size_t>(pick(0, static_cast<int>(p.choices.size()) - 1))];
      case Kind::kInt:
        return std::to_string(p.name == "window" ? 1 << pick(0, 20) : pick(1, 4));
      default:
        return number_text(std::ldexp(pick(-999, 999), pick(-12, -10)));
    }
  }

  std::string tensor(const Parameter& p) {
    const DTypeTerm& term = p.dtype.terms[random_() % p.dtype.terms.size()];
    std::string dtype =
        term.kind == DTypeTerm::Kind::kFixed ? std::string(dtype_name(term.dtype)) : "f32";
    std::vector<std::int64_t> sizes;
    if (p.shape.batch) sizes = rows_;
    for (const Dim& dim : p.shape.dims) {
      const bool column = dim.s == "C";
      sizes.push_back(dim.s.empty() ? dim.offset
                                    : (column ? columns_ : pick(0, 4)) * dim.scale + dim.offset);
    }
    std::string text = dtype + "[", strides = ":[";
    std::int64_t pitch = 1 + pick(0, 1);
    std::vector<std::string> steps;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      steps.insert(steps.begin(), std::to_string(pick(0, 9) == 0 ? 0 : pitch));
      pitch = (pitch * std::max<std::int64_t>(sizes[i], 1)) + pick(0, 1) * 8;
    }
    std::vector<std::string> shape;
    for (const std::int64_t size : sizes) shape.push_back(std::to_string(size));
    if (p.shape.batch && !rows_.empty() && free_) shape[0] = "?";
    text += join(shape, ",") + "]";
    if (pick(0, 1) == 0) text += strides + join(steps, ",") + "]";
    if (pick(0, 2) == 0) text += "@" + std::to_string(1 << pick(2, 4));
    if (!p.content.empty() && pick(0, 1) == 0) text += "~" + p.content;
    return text;
  }

  std::mt19937_64 random_;
  std::vector<std::int64_t> rows_;
  std::int64_t columns_ = 1;
  bool free_ = false;

 public:
  void set_free(bool free) { free_ = free; }
};

TEST_F(ProblemTextTest, RandomLegalProblemsSurviveUnchanged) {
  Fuzz fuzz(20);
  std::map<std::string, int> legal;
  for (int i = 0; i < 40'000; ++i) {
    const Operation& operation =
        catalog->operations()[static_cast<std::size_t>(i) % catalog->operations().size()];
    fuzz.set_free(i % 7 == 0);
    const std::string text = fuzz.text(*operation.contract);
    Problem problem;
    try {
      problem = parse(text);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::kInvalidArgument) << text << ": " << error.what();
      continue;
    }
    ++legal[problem.operation()];
    const std::string written = problem_text(problem);
    Problem again;
    ASSERT_NO_THROW(again = parse(written)) << text << "\n" << written;
    ASSERT_EQ(problem_text(again), written) << text;
    for (std::size_t j = 0; j < problem.values.size(); ++j) {
      const ParameterValue &a = problem.values[j], &b = again.values[j];
      const std::string where =
          text + " -> " + written + ": " + operation.contract->parameters[j].name;
      ASSERT_EQ(a.tensor, b.tensor) << where;
      ASSERT_EQ(a.list, b.list) << where;
      ASSERT_EQ(a.list_present, b.list_present) << where;
      const std::string name = operation.contract->parameters[j].name;
      if (operation.contract->parameters[j].is_scalar()) {
        ASSERT_EQ(problem.number(name), again.number(name)) << where;
      }
    }
  }
  for (const Operation& operation : catalog->operations())
    EXPECT_GT(legal[operation.contract->operation], 200) << operation.contract->operation;
}

TEST_F(ProblemTextTest, GarbageIsRefusedAndNeverWorse) {
  std::mt19937 random(5);
  const std::string alphabet = "x=f32[4,?]:@~*();{}01-+ /_gyabc";
  const std::string good =
      "blend/bare x=bf16[3,8]:[16,1]@8 label=i32[3]~label y=bf16[3,8]@4 eps=0.5 G=2 edge=zero";
  for (int i = 0; i < 40'000; ++i) {
    std::string text = good;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      const std::size_t at = random() % text.size();
      const char c = alphabet[random() % alphabet.size()];
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 3);
      else if (random() % 2 == 0)
        text.insert(at, 1, c);
      else
        text[at] = c;
    }
    try {
      const std::string written = problem_text(parse(text));
      ASSERT_EQ(canonical(written), written) << text;
    } catch (const Error& error) {
      ASSERT_NE(error.code(), Code::kInternal) << text << ": " << error.what();
      ASSERT_GT(std::string(error.what()).size(), 20U) << text;
    }
  }
}

}  // namespace
}  // namespace kw
