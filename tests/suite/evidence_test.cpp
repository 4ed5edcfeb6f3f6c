// SPDX-License-Identifier: Apache-2.0
// What a run proves, and that evidence for anything else does not count.
#include "kernelwright/suite/evidence.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "kernelwright/suite/code_identity.hpp"
#include "kernelwright/suite/report_file.hpp"
#include "kernelwright/suite/selftest/probe.hpp"
#include "suite/support/host_device.hpp"

namespace kw::suite {
namespace {

namespace fs = std::filesystem;

const std::vector<SuiteSpec>& suites() {
  static const std::vector<SuiteSpec> all{{"affine",
                                           {{"smoke", {"affine/one x=f32[4,8] gain=f32[8]"}},
                                            {"ci", {"affine/two x=f32[4,64] gain=f32[64]"}}}}};
  return all;
}

std::vector<Evidence> evidence_from(NumericsRequest request, Sabotage sabotage = Sabotage::kNone) {
  Catalog catalog;
  add_probes(catalog, sabotage);
  test::HostDevice device;
  request.implementation = "cpu.toy.affine";
  const Platform platform{catalog, device, suites(), {}};
  return evidence_of(run_numerics(request, platform), request, platform);
}

NumericsRequest whole_batch() {
  NumericsRequest request;
  request.batch = "ci";
  return request;
}

TEST(Evidence, IsOfAWholeBatchThatPassed) {
  const std::vector<Evidence> found = evidence_from(whole_batch());
  ASSERT_EQ(found.size(), 1U);
  const EvidenceIdentity& identity = found[0].identity;
  EXPECT_EQ(identity.implementation, "cpu.toy.affine");
  EXPECT_EQ(identity.device_model, "test host");
  EXPECT_TRUE(identity.code.starts_with("build:")) << identity.code;
  EXPECT_GT(identity.code.size(), std::string("build:").size() + 8);
  EXPECT_EQ(found[0].batch, "ci");
  EXPECT_GT(found[0].cases, 2);
}

TEST(Evidence, NothingLessProves) {
  EXPECT_TRUE(evidence_from({}).empty());  // smoke
  EXPECT_TRUE(evidence_from(whole_batch(), Sabotage::kZeros).empty());
  const auto changed = [](auto change) {
    NumericsRequest request = whole_batch();
    change(request);
    return evidence_from(request);
  };
  EXPECT_TRUE(changed([](auto& r) { r.fills = {"normal"}; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.variants = {"one"}; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.dtype = "f32"; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.shards = 2; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.repeats = 2; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.fuzz = 3; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.class_checks = false; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.memory_bytes = 1; }).empty());  // every case is skipped
}

TEST(Evidence, OfSingleProblemsNamesThemAndWhatServedThem) {
  NumericsRequest request;
  request.problems = {"affine/one x=f32[4,8] gain=f32[8]", "affine/one x=f32[0,8] gain=f32[8]"};
  const std::vector<Evidence> found = evidence_from(request);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].batch, "");
  EXPECT_EQ(found[0].cases, 1);
  ASSERT_EQ(found[0].problems.size(), 1U) << "a call without elements proves nothing";
  EXPECT_EQ(found[0].problems[0].problem, request.problems[0]);
  EXPECT_TRUE(found[0].covers(found[0].problems[0].specialization));
  EXPECT_FALSE(found[0].covers("another"));
  EXPECT_TRUE(evidence_from(whole_batch()).at(0).covers("another"));

  EXPECT_TRUE(evidence_from(request, Sabotage::kZeros).empty());
  const auto changed = [&](auto change) {
    NumericsRequest other = request;
    change(other);
    return evidence_from(other);
  };
  EXPECT_TRUE(changed([](auto& r) { r.fills = {"zeros"}; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.class_checks = false; }).empty());
  EXPECT_TRUE(changed([](auto& r) { r.repeats = 1; }).empty());
  EXPECT_TRUE(
      changed([](auto& r) { r.interrupted = [n = 0]() mutable { return n++ > 0; }; }).empty());
}

TEST(Evidence, CodeIsTheCompiledSourceOrTheLibrary) {
  const Implementation toy = probe_affine(Sabotage::kNone);
  const std::string one = code_identity(toy, {{"source_digest", "ab"}});
  EXPECT_TRUE(one.starts_with("source:"));
  EXPECT_EQ(one, code_identity(toy, {{"key", "x"}, {"source_digest", "ab"}}));
  EXPECT_NE(one, code_identity(toy, {{"source_digest", "ac"}}));
  EXPECT_NE(one, code_identity(toy, {{"source_digest", "ab"}, {"kernel_2.source_digest", "ab"}}));
  EXPECT_EQ(code_identity(toy, {{"code", "opaque"}}), "");
  EXPECT_EQ(build_id_of(nullptr), "");
  EXPECT_EQ(build_id_of(reinterpret_cast<const void*>(&code_identity)).size(), 40U);
}

class Store : public testing::Test {
 protected:
  ~Store() override {
    fs::permissions(folder_, fs::perms::owner_all, ignored_);
    fs::remove_all(folder_, ignored_);
  }

  fs::path folder_ = fs::temp_directory_path() / "kw_evidence_test";
  std::error_code ignored_;
  EvidenceStore store_{folder_};
  Evidence evidence_{
      {"cpu.toy.affine", "build:1", "model", "13.0"}, "ci", "eager", "2026-11-30T12:00:00Z", 7};
};

TEST_F(Store, FindsWhatWasStored) {
  EXPECT_FALSE(store_.find(evidence_.identity));
  EXPECT_NE(store_.why_missing(evidence_.identity).find("there is none"), std::string::npos);
  EXPECT_EQ(store_.store(evidence_), "");
  const auto found = store_.find(evidence_.identity);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cases, 7);
  EXPECT_EQ(found->stored, evidence_.stored);
  ASSERT_EQ(store_.list().size(), 1U);
}

TEST_F(Store, StaleEvidenceCountsAsNoneAndSaysWhy) {
  ASSERT_EQ(store_.store(evidence_), "");
  const auto expect_stale = [&](auto change, std::string_view why) {
    EvidenceIdentity other = evidence_.identity;
    change(other);
    EXPECT_FALSE(store_.find(other));
    EXPECT_NE(store_.why_missing(other).find(why), std::string::npos) << store_.why_missing(other);
  };
  expect_stale([](auto& i) { i.code = "build:2"; }, "code build:1, not build:2");
  expect_stale([](auto& i) { i.device_model = "other"; }, "device model, not other");
  expect_stale([](auto& i) { i.driver = "13.1"; }, "driver 13.0, not 13.1");
  expect_stale([](auto& i) { i.suite_version = 2; }, "suite version 1, not 2");
  expect_stale([](auto& i) { i.implementation = "cpu.other.affine"; }, "there is none");
}

TEST_F(Store, SingleProblemsAddUpBesideNoBatch) {
  Evidence single = evidence_;
  single.batch.clear();
  single.problems = {{"p1", "{.a = 1}"}};
  single.cases = 1;
  ASSERT_EQ(store_.store(single), "");
  single.problems = {{"p2", "{.a = 2}"}, {"p1", "{.a = 1}"}};
  ASSERT_EQ(store_.store(single), "");
  const auto found = store_.find(single.identity);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cases, 2);
  EXPECT_TRUE(found->covers("{.a = 1}") && found->covers("{.a = 2}"));
  EXPECT_FALSE(found->covers("{.a = 3}"));
  EXPECT_EQ(found->specializations(), "{.a = 1}, {.a = 2}");
  EXPECT_EQ(found->summary(), "single problems, 2 cases, 2026-11-30T12:00:00Z");

  ASSERT_EQ(store_.store(evidence_), "");  // a whole batch says more
  EXPECT_TRUE(store_.find(single.identity)->problems.empty());
  ASSERT_EQ(store_.store(single), "");  // and is not lost to less
  EXPECT_EQ(store_.find(single.identity)->summary(), "batch ci, 7 cases, 2026-11-30T12:00:00Z");
}

TEST_F(Store, WhatIsMissingIsToldByTheNearest) {
  Evidence far = evidence_;
  far.identity.code = "build:9";
  far.identity.device_model = "another";
  ASSERT_EQ(store_.store(far), "");
  ASSERT_EQ(store_.store(evidence_), "");
  EvidenceIdentity wanted = evidence_.identity;
  wanted.driver = "14.0";
  EXPECT_EQ(store_.why_missing(wanted), "what is stored is for driver 13.0, not 14.0");
}

TEST_F(Store, ATamperedFileCountsAsNone) {
  ASSERT_EQ(store_.store(evidence_), "");
  const std::string path = fs::directory_iterator(folder_)->path();
  const std::string text = read_whole(path);
  std::string changed = text;
  changed.replace(changed.find("\"cases\": 7"), 10, "\"cases\": 9");
  write_whole(changed, path);
  EXPECT_FALSE(store_.find(evidence_.identity));
  EXPECT_NE(store_.why_missing(evidence_.identity).find("damaged"), std::string::npos);
  std::vector<std::string> damaged;
  EXPECT_TRUE(store_.list(&damaged).empty());
  EXPECT_EQ(damaged, std::vector<std::string>{path});
  // Whole, but evidence of something else under this name.
  EvidenceIdentity other = evidence_.identity;
  other.driver = "13.1";
  write_whole(text, (folder_ / (other.key() + ".kwevidence")).string());
  EXPECT_FALSE(store_.find(other));
}

TEST_F(Store, WhereNothingCanBeWrittenItSaysSo) {
  EXPECT_NE(EvidenceStore(folder_, true).store(evidence_), "");
  EXPECT_NE(EvidenceStore("").store(evidence_), "");
  EXPECT_NE(EvidenceStore("/proc/kw_evidence").store(evidence_), "");
  EXPECT_TRUE(EvidenceStore("/proc/kw_evidence").list().empty());
}

}  // namespace
}  // namespace kw::suite
