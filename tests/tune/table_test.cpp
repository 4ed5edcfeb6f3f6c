// SPDX-License-Identifier: Apache-2.0
// tuning.json: what is refused and in which words, merging, which entry fits, and a Cfg that gets
// its geometry.
#include "kernelwright/tune/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernelwright/tune/cfg_table.hpp"
#include "support/expect_error.hpp"
#include "tune/support/toy.hpp"

namespace kw::tune {
namespace {

using test::expect_error;

constexpr const char* kEntry = R"({"implementation": "cuda.jit.toy",
  "device": {"capability": "sm_90", "model": "NVIDIA H200"},
  "when": {"width": 64}, "cfg": {"threads": 32},
  "buckets": {"many": {"cfg": {"unroll": 4, "lanes": {"count": 2}}, "ms": 0.5, "default_ms": 0.75,
                       "problems": ["toy/plain x=f32[128,64]"]}},
  "date": "2026-11-30", "revision": "r1"})";

std::string document(const std::string& entries) {
  return R"({"schema": "kw.tuning/1", "entries": [)" + entries + "]}";
}

std::string edited(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Table parse(const std::string& entries) { return parse_table(document(entries), "t.json"); }

Hardware hopper(const char* model = "NVIDIA H200") {
  Hardware hardware;
  hardware.kind = DeviceKind::kCuda;
  hardware.capability = 90;
  hardware.model = model;
  return hardware;
}

CfgTable<test::ToyCfg> toy_table(const std::string& entries) {
  return {parse(entries), "cuda.jit.toy", {"few", "many"}, "t.json"};
}

TEST(Table, TextReadsBackWhateverTheOrder) {
  const std::string other = edited(kEntry, "64}", "32}");
  const Table table = parse(std::string(kEntry) + "," + other);
  ASSERT_EQ(table.entries.size(), 2U);
  EXPECT_EQ(table.entries[0].buckets.at("many").cfg,
            (CfgPins{{"unroll", "4"}, {"lanes.count", "2"}}));
  const std::string text = table_text(table);
  EXPECT_EQ(table_text(parse_table(text, "again")), text);
  EXPECT_EQ(table_text(parse(other + "," + kEntry)), text);
}

TEST(Table, RefusesWhatItDoesNotKnow) {
  expect_error(Code::kInvalidArgument, {"t.json", "parse error"}, [] { parse("{"); });
  expect_error(Code::kInvalidArgument, {"schema 'kw.tuning/2'", "kw.tuning/1"},
               [] { parse_table(R"({"schema": "kw.tuning/2", "entries": []})", "t.json"); });
  const auto refuse = [](Code code, std::initializer_list<std::string_view> words,
                         const std::string& from, const std::string& to) {
    expect_error(code, words, [&] { parse(edited(kEntry, from, to)); });
  };
  refuse(Code::kNotFound, {"t.json: entries[0]", "'bucket'", "did you mean 'buckets'"},
         "\"buckets\"", "\"bucket\"");
  refuse(Code::kInvalidArgument, {"entries[0].device", "lacks the member 'model'"},
         ", \"model\": \"NVIDIA H200\"", "");
  refuse(Code::kInvalidArgument, {"buckets.many.ms", "-1 is not a positive number"}, "0.5", "-1");
  refuse(Code::kInvalidArgument, {"entries[0].when", "width=1.5"}, "64}", "1.5}");
}

TEST(Table, EntriesBetweenWhichNothingDecidesAreRefused) {
  const std::string by_wide = edited(kEntry, "\"width\": 64", "\"wide\": true");
  expect_error(Code::kInvalidArgument, {"entries[0] and entries[1]", "equally well"},
               [&] { parse(std::string(kEntry) + "," + by_wide); });
  EXPECT_NO_THROW(parse(std::string(kEntry) + "," + edited(kEntry, "64}", "32}")));
}

TEST(Table, ANewEntryTakesThePlaceOfTheOneWithItsKey) {
  Table table = parse(kEntry);
  Entry few = table.entries[0];
  few.buckets = {{"few", {{{"unroll", "1"}}, 1, 1, {}}}};
  EXPECT_TRUE(replace_entry(table, few).empty());
  ASSERT_EQ(table.entries.size(), 1U);
  EXPECT_EQ(table.entries[0].buckets.size(), 2U) << "the other bucket has the same tree";
  few.tree["threads"] = "128";
  EXPECT_EQ(replace_entry(table, few), std::vector<std::string>{"many"});
  EXPECT_EQ(table.entries[0].buckets.size(), 1U);
  few.model = "NVIDIA H100";
  replace_entry(table, few);
  EXPECT_EQ(table.entries.size(), 2U);
}

TEST(Table, TheOwnModelComesFirstThenTheMostFacts) {
  const std::string any = edited(kEntry, "\"width\": 64", "");
  const std::string other_model = edited(kEntry, "NVIDIA H200", "NVIDIA H100");
  const Table table = parse(any + "," + other_model + "," + kEntry);
  const CfgPins facts{{"width", "64"}, {"wide", "true"}};
  const auto order = [&](const Hardware& hardware, const CfgPins& of) {
    std::vector<std::string> found;
    for (const Entry* entry : matching_entries(table, "cuda.jit.toy", hardware, of))
      found.push_back(entry->model + " " + std::to_string(entry->when.size()));
    return found;
  };
  EXPECT_EQ(order(hopper(), facts),
            (std::vector<std::string>{"NVIDIA H200 1", "NVIDIA H200 0", "NVIDIA H100 1"}));
  EXPECT_EQ(order(hopper("NVIDIA H100"), facts).front(), "NVIDIA H100 1");
  EXPECT_EQ(order(hopper(), {{"width", "32"}, {"wide", "false"}}),
            std::vector<std::string>{"NVIDIA H200 0"});
  Hardware older = hopper();
  older.capability = 80;
  EXPECT_TRUE(order(older, facts).empty());
}

TEST(CfgTable, GivesTheGeometryOfTheNearestBucketAndSaysSo) {
  const auto table = toy_table(kEntry);
  const auto tuned = [&](int width, int bucket) {
    test::ToyCfg cfg{.width = width, .wide = true};
    std::string origin = table.apply(cfg, hopper(), bucket, [](const auto&) { return true; });
    return jit::cfg_text(cfg) + " " + origin;
  };
  const std::string geometry =
      "{.width = 64, .wide = true, .threads = 32, .unroll = 4, .lanes = {.count = 2}} "
      "table: bucket many, measured on NVIDIA H200 (sm_90) 2026-11-30";
  EXPECT_EQ(tuned(64, 1), geometry);
  EXPECT_EQ(tuned(64, 0), geometry) << "'few' was not measured";
  EXPECT_EQ(tuned(65, 1), "{.width = 65, .wide = true} formula: no table entry fits");
}

// Were only the bucket at hand asked, the tree would follow from the number of rows.
TEST(CfgTable, AnEntryWithAnIllegalBucketIsPassedOverInAll) {
  const std::string few =
      R"("few": {"cfg": {"unroll": 1}, "ms": 1, "default_ms": 1, "problems": []}, "many")";
  const auto table = toy_table(edited(kEntry, "\"many\"", few));
  test::ToyCfg cfg{.width = 64};
  const auto legal = [](const test::ToyCfg& c) { return c.unroll < 4; };
  EXPECT_EQ(table.apply(cfg, hopper(), 0, legal), kFormulaOrigin);
  EXPECT_EQ(cfg.threads, 64);
}

TEST(CfgTable, RefusesFieldsOfAnotherPartValuesAndBuckets) {
  const auto refuse = [](Code code, std::initializer_list<std::string_view> words,
                         const std::string& from, const std::string& to) {
    expect_error(code, words, [&] { toy_table(edited(kEntry, from, to)); });
  };
  refuse(Code::kNotFound, {"t.json, entry 0 of cuda.jit.toy", "'thread'", "threads"}, "threads",
         "thread");
  refuse(Code::kInvalidArgument, {"'unroll' is not a tree field", "threads"}, "\"threads\": 32",
         "\"unroll\": 2");
  refuse(Code::kInvalidArgument, {"'threads' is not a free field", "unroll"}, "\"unroll\": 4",
         "\"threads\": 64");
  refuse(Code::kInvalidArgument, {"'threads' is not a fact field"}, "\"width\": 64",
         "\"threads\": 64");
  refuse(Code::kInvalidArgument, {"unroll=much"}, "\"unroll\": 4", "\"unroll\": \"much\"");
  refuse(Code::kNotFound, {"unknown bucket 'man'", "few, many"}, "\"many\"", "\"man\"");
}

}  // namespace
}  // namespace kw::tune
