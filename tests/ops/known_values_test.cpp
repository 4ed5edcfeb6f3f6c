// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ops/known_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "kernelwright/core/settings.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw {
namespace {

const std::filesystem::path kConfigs =
    std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "configs";

class KnownValuesTest : public testing::Test {
 protected:
  KnownValuesTest() { ops::add_known_values(catalog); }

  const KnownValue* value(std::string_view field, std::string_view name) const {
    for (const KnownValue& each : catalog.known_values()) {
      if (each.field == field && each.value == name) return &each;
    }
    return nullptr;
  }

  Catalog catalog;
};

TEST_F(KnownValuesTest, EveryValueBelongsToAFieldAndSaysWhatItNeeds) {
  std::set<std::string> fields;
  for (const KnownField& field : catalog.known_fields()) fields.insert(field.field);
  for (const KnownValue& each : catalog.known_values()) {
    EXPECT_TRUE(fields.count(each.field)) << each.field;
    EXPECT_EQ(each.remedy.rfind("needs plugin ", 0), 0U) << each.value;
    EXPECT_NE(each.value, "eager");
    EXPECT_NE(each.value, "auto");
  }
}

TEST_F(KnownValuesTest, ShippedDefaultsAreEagerOrKnown) {
  for (const KnownField& field : catalog.known_fields()) {
    if (field.shipped_default == "eager") continue;
    EXPECT_NE(value(field.field, field.shipped_default), nullptr) << field.field;
  }
}

TEST_F(KnownValuesTest, MeaningsAreValuesThatRunOnTheirDevice) {
  for (const KnownValue& each : catalog.known_values()) {
    EXPECT_TRUE(!each.deprecated || !each.normalises_to.empty()) << each.value;
    for (const auto& [kind, meaning] : each.normalises_to) {
      if (meaning.empty() || meaning == "eager") continue;
      const KnownValue* target = value(each.field, meaning);
      ASSERT_NE(target, nullptr) << each.field << " " << meaning;
      EXPECT_FALSE(target->deprecated);
      EXPECT_EQ(std::count(target->devices.begin(), target->devices.end(), kind), 1) << meaning;
      // A value that runs here already needs no other meaning.
      if (!each.deprecated) {
        EXPECT_EQ(std::count(each.devices.begin(), each.devices.end(), kind), 0) << each.value;
      }
    }
  }
}

// The table of seed 000 and of op_semantics 17, counted so that a lost row is seen.
TEST_F(KnownValuesTest, TheWholeShippedSurfaceIsThere) {
  EXPECT_EQ(catalog.known_fields().size(), 14U);
  EXPECT_EQ(catalog.known_values().size(), 36U);
  for (const char* name : {"sdpa", "flash_attention_2", "flash_attention_3", "flash_attention_4",
                           "flex_attention", "magi_attention", "native-sparse"}) {
    EXPECT_NE(value("attn_implementation", name), nullptr) << name;
  }
  const KnownValue* moe = value("moe_implementation", "fused_triton");
  ASSERT_NE(moe, nullptr);
  EXPECT_EQ(moe->normalises_to.at(DeviceKind::kNpu), "fused_npu");
  EXPECT_EQ(moe->remedy, "needs plugin triton (compute capability 7.0 or newer)");
}

// Contract and data must agree on the field of an operation that has landed, and a value that the
// tree serves is no longer one that nothing serves.
TEST(BuiltinOperations, AgreeWithTheKnownFields) {
  Catalog builtin;
  add_builtin_operations(builtin);
  for (const KnownField& known : builtin.known_fields()) {
    const Operation* operation = builtin.find(known.operation);
    if (operation == nullptr) continue;
    const ConfigField& field = operation->contract->field;
    std::vector<std::string> names{field.name};
    for (const auto& [variant, name] : field.variant_names) {
      if (variant == known.variant) names = {name};
    }
    EXPECT_EQ(names.front(), known.field) << known.operation;
    for (const KnownValue& value : builtin.known_values()) {
      if (value.field != known.field) continue;
      for (const Implementation& entry : operation->implementations) {
        EXPECT_NE(field.value_prefix + entry.info.solution, value.value) << known.operation;
      }
    }
  }
}

TEST_F(KnownValuesTest, ShippedConfigurationsNameEveryFieldOnce) {
  for (const char* name : {"auto.yaml", "eager.yaml"}) {
    Settings settings;
    settings.load_file(catalog, (kConfigs / name).string());
    EXPECT_EQ(settings.file_fields().size(), catalog.known_fields().size()) << name;
  }
}

}  // namespace
}  // namespace kw
