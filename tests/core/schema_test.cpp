// SPDX-License-Identifier: Apache-2.0
// The contract in other notations.
#include "kernelwright/core/schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/support/blend.hpp"
#include "core/support/toy_operations.hpp"

namespace kw {
namespace {

TEST(Schema, Torch) {
  EXPECT_EQ(torch_schema(toy::ScaleArgs::contract()),
            "scale(Tensor x, float scale=1, *, str variant='standard') -> (Tensor y)");
  EXPECT_EQ(torch_schema(toy::PushArgs::contract()),
            "push(Tensor x, Tensor(a!) cache, str order='fifo', SymInt times=1, *, str "
            "variant='standard') -> (Tensor popped)");
  EXPECT_EQ(torch_schema(toy::SumListArgs::contract()),
            "sum_list(Tensor[] parts, float factor=2, float? bias=None, *, str variant='standard', "
            "bool want_peak=False)"
            " -> (Tensor total, Tensor[] scaled, Tensor peak)");
}

TEST(Schema, JsonHoldsTheWholeTable) {
  const Contract& contract = toy::BlendArgs::contract();
  const auto json = nlohmann::json::parse(contract_json(contract));
  EXPECT_EQ(json["operation"], "blend");
  EXPECT_EQ(json["version"], 3);
  ASSERT_EQ(json["parameters"].size(), contract.parameters.size());
  for (std::size_t i = 0; i < contract.parameters.size(); ++i) {
    EXPECT_EQ(json["parameters"][i]["name"], contract.parameters[i].name);
    EXPECT_EQ(json["parameters"][i]["offset"], contract.parameters[i].offset);
  }
  const auto row = [&](std::string_view name) {
    return json["parameters"][static_cast<std::size_t>(contract.find_parameter(name))];
  };
  EXPECT_EQ(row("weight")["dtype"], "W: T|f32");
  EXPECT_EQ(row("weight")["variants"], nlohmann::json::array({"weighted"}));
  EXPECT_EQ(row("table")["shape"], "[K*G, 2*C+1]");
  EXPECT_EQ(row("label")["content"], "label");
  EXPECT_EQ(row("low")["group"], "bounds");
  EXPECT_EQ(row("rstd")["saved"], true);
  EXPECT_EQ(row("edge")["default"], "clamp");
  EXPECT_FALSE(row("edge").contains("low"));
  EXPECT_EQ(row("eps")["variability"], "dynamic");
  EXPECT_EQ(row("eps")["high"], 1);
  EXPECT_EQ(row("sharpness")["variability"], "static");
  EXPECT_EQ(row("flip")["default"], false);
  EXPECT_EQ(json["symbols"][1]["name"], "K");
  EXPECT_EQ(json["args_size"], sizeof(toy::BlendArgs));
  EXPECT_EQ(json["variants"][0]["tolerance"], "two_roundings");
}

TEST(Schema, JsonTakesShapesAndDtypeRulesApart) {
  using Json = nlohmann::json;
  const auto json = Json::parse(contract_json(toy::BlendArgs::contract()));
  const auto row = [&](std::string_view name) {
    return json["parameters"]
               [static_cast<std::size_t>(toy::BlendArgs::contract().find_parameter(name))];
  };
  EXPECT_EQ(row("x")["dims"],
            Json::parse(R"([{"batch":true},{"scale":1,"s":"C","t":"","offset":0}])"));
  EXPECT_EQ(row("table")["dims"], Json::parse(R"([{"scale":1,"s":"K","t":"G","offset":0},
                                                 {"scale":2,"s":"C","t":"","offset":1}])"));
  EXPECT_EQ(row("x")["dtypes"],
            Json::parse(R"({"declares":"T","terms":[{"kind":"fixed","dtype":"bf16","symbol":""},
              {"kind":"fixed","dtype":"f16","symbol":""},{"kind":"fixed","dtype":"f32","symbol":""}]})"));
  EXPECT_EQ(row("weight")["dtypes"]["declares"], "W");
  EXPECT_EQ(row("weight")["dtypes"]["terms"][0],
            Json::parse(R"({"kind":"symbol","dtype":"","symbol":"T"})"));
  EXPECT_EQ(row("rstd")["dtypes"]["terms"][0]["kind"], "accumulator");
  EXPECT_EQ(json["torch_schema"], torch_schema(toy::BlendArgs::contract()));
}

TEST(Schema, MarkdownHasARowPerParameterAndVariant) {
  const std::string text = contract_markdown(toy::BlendArgs::contract());
  EXPECT_NE(text.find("| `x` | input | T: bf16\\|f16\\|f32 | [*, C] |"), std::string::npos) << text;
  EXPECT_NE(text.find("(weighted)"), std::string::npos);
  EXPECT_NE(text.find("| `bare` | one_rounding | without |"), std::string::npos);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            toy::BlendArgs::contract().parameters.size() + 2 + 2 + 3);
}

}  // namespace
}  // namespace kw
