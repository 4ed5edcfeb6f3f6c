// SPDX-License-Identifier: Apache-2.0
// What can be asked of the C interface without initialize, and how wrong requests are refused.
#include <nlohmann/json.hpp>

#include "capi/support/capi.hpp"
#include "kernelwright/core/schema.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::test {
namespace {

const std::string& first_operation() {
  return builtin_catalog().operations().front().contract->operation;
}

TEST(Request, IsAJsonObjectWithACommand) {
  expect_refusal("{", KW_INVALID_ARGUMENT, {"no JSON"});
  expect_refusal("[1]", KW_INVALID_ARGUMENT, {"a list ([1])", "takes an object"});
  expect_refusal("{}", KW_INVALID_ARGUMENT, {"no field 'command'", "known: initialize, list"});
  expect_refusal(R"({"command": 3})", KW_INVALID_ARGUMENT, {"'command' is 3", "takes text"});
  expect_refusal(R"({"command": "explian"})", KW_NOT_FOUND,
                 {"unknown command 'explian'", "did you mean 'explain'?"});
}

TEST(Request, NamesFieldTypeFoundAndTypeWanted) {
  expect_refusal(R"({"command": "list", "operatoin": "x"})", KW_NOT_FOUND,
                 {"'list'", "unknown field 'operatoin'", "did you mean 'operation'?"});
  expect_refusal(R"({"command": "list", "operation": 3})", KW_INVALID_ARGUMENT,
                 {"field 'operation' is a number (3)", "takes text"});
  expect_refusal(R"({"command": "initialize", "prepare_on_miss": "yes"})", KW_INVALID_ARGUMENT,
                 {"field 'prepare_on_miss' is text (\"yes\")", "takes a boolean"});
  expect_refusal(R"({"command": "initialize", "overrides": {"a": 1}})", KW_INVALID_ARGUMENT,
                 {"field 'overrides' is an object", "an object of texts or lists of texts"});
  expect_refusal(R"({"command": "prepare", "problems": [1]})", KW_INVALID_ARGUMENT,
                 {"field 'problems' is a list ([1])", "takes text or a list of texts"});
  expect_refusal(R"({"command": "list", "operation": [)" + std::string(60, ' ') + R"("long", )" +
                     R"("longer than is worth quoting in a message"]})",
                 KW_INVALID_ARGUMENT, {"field 'operation' is a list; it takes text"});
}

TEST(Request, ANullFieldIsAbsent) {
  EXPECT_EQ(control({{"command", "list"}, {"operation", nullptr}}), control({{"command", "list"}}));
}

TEST(Request, NullPointersAreErrors) {
  char* reply = nullptr;
  expect_failure(kw_control(nullptr, &reply), KW_INVALID_ARGUMENT, {"'request_json' is null"});
  expect_failure(kw_control("{}", nullptr), KW_INVALID_ARGUMENT, {"'reply_json' is null"});
  expect_failure(kw_precompile(nullptr, &reply), KW_INVALID_ARGUMENT, {"'request_json' is null"});
  expect_failure(kw_request_schema(nullptr), KW_INVALID_ARGUMENT, {"'json' is null"});
  expect_failure(kw_args_schema(nullptr, &reply), KW_INVALID_ARGUMENT, {"'operation' is null"});
  expect_failure(kw_args_size(first_operation().c_str(), nullptr), KW_INVALID_ARGUMENT,
                 {"'bytes' is null"});
  kw_plan* plan = nullptr;
  expect_failure(kw_plan_create("{}", nullptr), KW_INVALID_ARGUMENT, {"'out' is null"});
  expect_failure(kw_plan_create(nullptr, &plan), KW_INVALID_ARGUMENT, {"'request_json' is null"});
  expect_failure(kw_plan_info(nullptr, &reply), KW_INVALID_ARGUMENT, {"'plan' is null"});
  kw_binding* binding = nullptr;
  expect_failure(kw_bind(nullptr, nullptr, nullptr, &binding), KW_INVALID_ARGUMENT,
                 {"'operation' is null"});
  expect_failure(kw_bind("x", nullptr, nullptr, nullptr), KW_INVALID_ARGUMENT, {"'out' is null"});
  expect_failure(kw_call(nullptr, nullptr, 0, nullptr, 0, nullptr, 0, nullptr), KW_INVALID_ARGUMENT,
                 {"'binding' is null"});
  EXPECT_EQ(reply, nullptr);
}

TEST(Request, SchemaNamesEveryCommandAndItsFields) {
  char* text = nullptr;
  ASSERT_EQ(kw_request_schema(&text), KW_OK);
  const Json schema = taken(text);
  std::vector<std::string> names;
  for (const Json& row : schema["commands"]) {
    names.push_back(row["name"]);
    EXPECT_FALSE(row["help"].get<std::string>().empty());
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"initialize", "list", "explain", "prepare", "doctor",
                                      "contract", "counters", "settings", "precompile", "plan"}));
  EXPECT_EQ(schema["commands"][0]["fields"][2]["name"], "overrides");
  EXPECT_EQ(schema["commands"][0]["fields"][2]["type"], "an object of texts or lists of texts");
}

TEST(Control, ContractAndListAreTheCatalogs) {
  const Contract& contract = *builtin_catalog().operations().front().contract;
  const Json json = control({{"command", "contract"}, {"operation", contract.operation}});
  EXPECT_EQ(json, Json::parse(contract_json(contract)));
  const Json list = control({{"command", "list"}, {"operation", contract.operation}});
  EXPECT_EQ(list["schema"], "kw.list/1");
  ASSERT_EQ(list["operations"].size(), 1U);
  EXPECT_EQ(list["operations"][0]["torch_schema"], torch_schema(contract));
  expect_refusal(R"({"command": "contract"})", KW_INVALID_ARGUMENT,
                 {"needs the field 'operation'"});
  expect_refusal(R"({"command": "list", "operation": "nosuch"})", KW_NOT_FOUND,
                 {"unknown operation 'nosuch'", "known: " + first_operation()});
}

TEST(Control, ArgsSchemaHasTheOffsetsOfTheStruct) {
  const Contract& contract = *builtin_catalog().operations().front().contract;
  char* text = nullptr;
  ASSERT_EQ(kw_args_schema(contract.operation.c_str(), &text), KW_OK);
  const Json schema = taken(text);
  std::int64_t bytes = 0;
  ASSERT_EQ(kw_args_size(contract.operation.c_str(), &bytes), KW_OK);
  EXPECT_EQ(bytes, static_cast<std::int64_t>(contract.args.size));
  EXPECT_EQ(schema["size"], contract.args.size);
  ASSERT_EQ(schema["fields"].size(), contract.parameters.size());
  std::size_t end = 0;
  for (std::size_t i = 0; i < contract.parameters.size(); ++i) {
    const Json& field = schema["fields"][i];
    EXPECT_EQ(field["name"], contract.parameters[i].name);
    EXPECT_EQ(field["offset"], contract.parameters[i].offset);
    EXPECT_GE(field["offset"], end);
    end = field["offset"].get<std::size_t>() + field["size"].get<std::size_t>();
    EXPECT_LE(end, contract.args.size);
  }
  expect_failure(kw_args_schema("nosuch", &text), KW_NOT_FOUND, {"unknown operation 'nosuch'"});
  EXPECT_EQ(text, nullptr);
}

TEST(Precompile, RefusesWhatContradictsItself) {
  char* reply = nullptr;
  expect_failure(kw_precompile("{}", &reply), KW_INVALID_ARGUMENT, {"needs problems or a batch"});
  expect_failure(kw_precompile(R"({"problm": "x"})", &reply), KW_NOT_FOUND,
                 {"'precompile'", "did you mean 'problem'?"});
  expect_failure(kw_precompile(R"({"batch": "smoke", "arch": "sm_1"})", &reply), KW_NOT_FOUND,
                 {"sm_1"});
  expect_failure(kw_precompile(R"({"batch": "smoke", "operation": "nosuch"})", &reply),
                 KW_NOT_FOUND, {"unknown operation 'nosuch'"});
  EXPECT_EQ(reply, nullptr);
}

}  // namespace
}  // namespace kw::test
