// SPDX-License-Identifier: Apache-2.0
// Control requests that decide for the whole process, so that each case has a process of its own.
#include <filesystem>
#include <fstream>

#include "capi/support/capi.hpp"
#include "capi/support/toys.hpp"
#include "kernelwright/backend/cpu/cpu_device.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/suite/code_identity.hpp"
#include "kernelwright/suite/evidence.hpp"
#include "support/fake_device.hpp"

namespace kw::test {
namespace {

constexpr const char* kProblem = "rms_norm/standard x=bf16[?,64] weight=bf16[64]";

TEST(Control, NeedsInitializeForWhatDependsOnIt) {
  for (const char* command : {"explain", "prepare", "counters", "settings"}) {
    Json request{{"command", command}};
    if (std::string_view(command) == "explain") request["operation"] = "rms_norm";
    for (const char* device : {"", "cpu", "auto"}) {
      request["device"] = device;
      expect_refusal(request.dump(), KW_CONFLICT, {"not initialised", "initialize()"});
    }
  }
  kw_binding* binding = nullptr;
  expect_failure(kw_bind("rms_norm", nullptr, nullptr, &binding), KW_CONFLICT, {"not initialised"});
  kw_plan* plan = nullptr;
  expect_failure(kw_plan_create(Json{{"problem", kProblem}}.dump().c_str(), &plan), KW_CONFLICT,
                 {"not initialised"});
}

TEST(Control, LookingDoesNotCloseRegistration) {
  EXPECT_EQ(control({{"command", "doctor"}})["schema"], "kw.doctor/1");
  control({{"command", "list"}});
  control({{"command", "contract"}, {"operation", "rms_norm"}});
  EXPECT_FALSE(builtin_catalog().frozen());
  add_toys();
  control({{"command", "initialize"}});
  EXPECT_TRUE(builtin_catalog().frozen());
  EXPECT_EQ(control({{"command", "doctor"}})["schema"], "kw.doctor/1");
}

TEST(Control, InitializesOnce) {
  const Json request{{"command", "initialize"},
                     {"device", "cpu"},
                     {"overrides", {{"rms_norm", {"native", "reference"}}}},
                     {"prepare_on_miss", false}};
  const Json reply = control(request);
  EXPECT_EQ(reply["device"], "cpu");
  EXPECT_EQ(reply["prepare_on_miss"], false);
  EXPECT_EQ(reply["mode"], "eager");
  EXPECT_EQ(reply["warnings"], Json::array());
  EXPECT_EQ(reply["operations"][0]["choice"]["targets"], Json({"native", "reference"}));
  EXPECT_EQ(reply["operations"][0]["choice"]["source"], "explicit");
  EXPECT_EQ(reply["operations"][0]["first"], "cpu.native.rms_norm");
  EXPECT_EQ(control(request), reply);
  Json settings = control({{"command", "settings"}});
  EXPECT_EQ(settings, reply);
  expect_refusal(R"({"command": "initialize"})", KW_CONFLICT, {"already initialised"});
}

TEST(Control, InitializePublishesNothingWhenItFails) {
  expect_refusal(R"({"command": "initialize", "overrides": {"rms_nrm": "native"}})", KW_NOT_FOUND,
                 {"'rms_nrm'", "did you mean 'rms_norm'?"});
  expect_refusal(R"({"command": "initialize", "mode": "lazy"})", KW_NOT_FOUND,
                 {"unknown mode 'lazy'", "eager, graph"});
  expect_refusal(R"({"command": "initialize", "device": "npu"})", KW_ENVIRONMENT, {"npu"});
  expect_refusal(R"({"command": "initialize", "config_file": "/nosuch.yaml"})", KW_NOT_FOUND,
                 {"/nosuch.yaml"});
  expect_refusal(
      R"({"command": "initialize", "config_file": "a.yaml", "config_text": "model: {}"})",
      KW_INVALID_ARGUMENT, {"a.yaml", "give one"});
  expect_refusal(R"({"command": "counters"})", KW_CONFLICT, {"not initialised"});
  control(
      {{"command", "initialize"},
       {"config_text", "model:\n  ops_implementation:\n    rms_norm_implementation: native\n"}});
  const Json settings = control({{"command", "settings"}});
  EXPECT_EQ(settings["operations"][0]["choice"]["source"], "file");
  EXPECT_EQ(
      settings["operations"][0]["choice"]["origin"].get<std::string>().rfind("config_text", 0), 0U);
}

TEST(Control, Explains) {
  control({{"command", "initialize"}, {"device", "cpu"}});
  const Json all = control({{"command", "explain"}, {"operation", "rms_norm"}});
  EXPECT_EQ(all["schema"], "kw.explain/1");
  EXPECT_EQ(all["explanations"].size(),
            builtin_catalog().operation("rms_norm").contract->variants.size());
  const Json one =
      control({{"command", "explain"}, {"operation", "rms_norm"}, {"variant", "fp32"}});
  ASSERT_EQ(one["explanations"].size(), 1U);
  const Json problem = control(
      {{"command", "explain"}, {"problem", kProblem}, {"device", "cpu"}})["explanations"][0];
  EXPECT_EQ(problem["selected"], "cpu.native.rms_norm");
  EXPECT_EQ(problem["problem"], kProblem);
  expect_refusal(R"({"command": "explain"})", KW_INVALID_ARGUMENT,
                 {"one of the fields 'operation', 'problem'"});
  expect_refusal(R"({"command": "explain", "problem": "x", "variant": "y"})", KW_INVALID_ARGUMENT,
                 {"leave out 'variant'"});
  expect_refusal(R"({"command": "explain", "operation": "rms_norm", "variant": "fp3"})",
                 KW_NOT_FOUND, {"did you mean 'fp32'?"});
}

TEST(Control, PreparesProblems) {
  control({{"command", "initialize"}, {"device", "cpu"}});
  EXPECT_EQ(control({{"command", "counters"}})["plans_built"], 0);
  const Json reply = control({{"command", "prepare"},
                              {"problem", kProblem},
                              {"problems", {"rms_norm/standard x=f32[{2,3},8] weight=f32[8]"}},
                              {"reserve", true}});
  ASSERT_EQ(reply["prepared"].size(), 3U);
  EXPECT_EQ(reply["prepared"][0]["problem"], kProblem);
  EXPECT_EQ(reply["prepared"][0]["implementation"], "cpu.native.rms_norm");
  EXPECT_EQ(reply["prepared"][0]["device"], "cpu");
  EXPECT_TRUE(reply["prepared"][0]["workspace"].is_null()) << "its rows are free";
  EXPECT_EQ(reply["prepared"][2]["workspace"], Json({{"bytes", 0}, {"zeroed_bytes", 0}}));
  EXPECT_EQ(reply["prepared"][1]["specialization"], reply["prepared"][2]["specialization"]);
  EXPECT_EQ(control({{"command", "counters"}})["plans_built"], 2);
  expect_refusal(R"({"command": "prepare"})", KW_INVALID_ARGUMENT, {"'problem' or 'problems'"});
  expect_refusal(R"({"command": "prepare", "problem": "rms_norm/standard x=f32[2"})",
                 KW_INVALID_ARGUMENT, {"rms_norm"});
  expect_refusal(Json{{"command", "prepare"}, {"problem", kProblem}, {"cfg", {{"isaa", 1}}}}.dump(),
                 KW_NOT_FOUND, {"isaa"});
}

// Evidence counts for one code, driver and suite; what differs is named.
TEST(Control, PreparesOnlyWhatHasEvidenceWhereThatIsRequired) {
  const auto folder = std::filesystem::temp_directory_path() / "kw_control_evidence_test";
  std::filesystem::remove_all(folder);
  setenv("KW_CACHE_DIR", folder.c_str(), 1);
  EXPECT_EQ(control({{"command", "initialize"}, {"require_evidence", true}})["require_evidence"],
            true);
  const Json request{{"command", "prepare"}, {"problem", kProblem}};
  const auto expect_refused = [&](std::string_view why) {
    expect_refusal(
        request.dump(), KW_UNSUPPORTED,
        {"cpu.native.rms_norm would serve 'rms_norm/standard x=bf16[?,64]",
         "require_evidence is on (argument of initialize)", why,
         "`kw numerics --implementation cpu.native.rms_norm --problem 'rms_norm/standard "
         "x=bf16[16,64] weight=bf16[64]'` makes some"});
  };
  expect_refused("there is none in '" + folder.string());

  const auto [operation, native] = builtin_catalog().find_implementation("cpu.native.rms_norm");
  const suite::Evidence right{{native->info.name, suite::code_identity(*native, {}),
                               runtime::CpuDevice().hardware().model, ""},
                              "ci",
                              "eager",
                              "2026-11-30T12:00:00Z",
                              7};
  const auto store = [&](const suite::Evidence& evidence) {
    std::filesystem::remove_all(folder);
    ASSERT_EQ(suite::EvidenceStore(folder / "evidence").store(evidence), "");
  };
  suite::Evidence other = right;
  other.identity.code = "build:0123456789abcdef";
  store(other);
  expect_refused("what is stored is for code build:0123456789ab, not build:");
  other = right;
  other.identity.driver = "13.0";
  store(other);
  expect_refused("what is stored is for driver 13.0, not none");
  other = right;
  ++other.identity.suite_version;
  store(other);
  expect_refused("what is stored is for suite version 2, not 1");
  EXPECT_EQ(control({{"command", "counters"}})["plans_built"], 0);

  store(right);
  EXPECT_EQ(control(request)["prepared"][0]["implementation"], "cpu.native.rms_norm");
  const Json evidence =
      control({{"command", "explain"}, {"problem", kProblem}})["explanations"][0]["evidence"];
  EXPECT_EQ(evidence["found"], true);
  EXPECT_EQ(evidence["text"], "batch ci, 7 cases, 2026-11-30T12:00:00Z");
  const Json doctor = control({{"command", "doctor"}})["evidence"];
  EXPECT_EQ(doctor["required"], true);
  EXPECT_EQ(doctor["of_this_machine"], 1);
  expect_refusal(R"({"command": "initialize"})", KW_CONFLICT, {"require_evidence=true"});
  std::filesystem::remove_all(folder);
}

TEST(Control, TheArgumentOfInitializeOverrulesTheFile) {
  const Json reply =
      control({{"command", "initialize"},
               {"require_evidence", false},
               {"config_text", "model: {require_evidence: true, ops_implementation: {}}"}});
  EXPECT_EQ(reply["require_evidence"], false);
  control({{"command", "prepare"}, {"problem", kProblem}});
}

// An implementation for a device with capture.
Implementation on_fake_device() {
  Implementation result;
  result.info.name = "cuda.fake.scale";
  result.info.solution = "fake";
  result.info.description = "counts its launches";
  result.info.device = DeviceKind::kCuda;
  ImplementationFunctions& f = result.functions;
  f.supports = [](void*, const Problem&, const Hardware&) { return std::optional<Rejection>(); };
  f.workspace = [](void*, const Problem&) { return WorkspaceSize{128, 64}; };
  f.choose = [](void*, const Problem&, const Hardware&, const CfgPins&) {
    return Specialization{"{}", nullptr};
  };
  f.prepare = [](void*, PrepareRequest& request) -> void* { return &request.device; };
  f.launch = [](const void* plan, const void*, const LaunchFrame& frame) noexcept {
    if (frame.workspace == nullptr) return failed(StatusCode::kInternal, "no workspace");
    auto* device = const_cast<FakeDevice*>(
        static_cast<const FakeDevice*>(static_cast<const DevicePort*>(plan)));
    return device->enqueue(frame.stream, [] {});
  };
  f.destroy = [](void*) noexcept {};
  f.describe = [](const void*) { return PlanFacts{}; };
  return result;
}

TEST(Capture, NothingIsPreparedMeanwhile) {
  add_toys();
  builtin_catalog().register_implementation("scale", on_fake_device());
  FakeDevice device;
  Settings settings;  // the toys have one for such a device, which ranks before
  settings.set(builtin_catalog(), "scale", {"fake"}, Source::kExplicit, "test");
  Context::initialize(builtin_catalog(), settings, device);
  kw_binding* binding = nullptr;
  ASSERT_EQ(kw_bind("scale", nullptr, nullptr, &binding), KW_OK) << kw_last_error();
  kw_plan* plan = nullptr;
  ASSERT_EQ(kw_plan_create(R"({"problem": "scale/standard x=f32[?,16]"})", &plan), KW_OK)
      << kw_last_error();

  auto* x = static_cast<std::byte*>(device.allocate(4096, runtime::MemoryKind::kDevice));
  void* const memory = device.allocate(128, runtime::MemoryKind::kDevice);
  Call call, other;
  call.tensor(x, KW_F32, {2, 16}).tensor(x + 1024, KW_F32, {2, 16}).defaults(1);
  other.tensor(x, KW_F32, {3, 8}).tensor(x + 1024, KW_F32, {3, 8}).defaults(1);
  void* const stream = device.create_stream();
  device.begin_capture(stream);
  expect_failure(other.launch(binding, nullptr, 0, stream), KW_NOT_PREPARED,
                 {"the stream is capturing", "scale/standard x=f32[3,8]"});
  expect_failure(call.launch(plan, nullptr, 0, stream), KW_NOT_PREPARED,
                 {"the stream is capturing and lacks 128 bytes of workspace"});
  EXPECT_EQ(call.launch(plan, memory, 128, stream), KW_OK) << kw_last_error();
  EXPECT_EQ(call.launch(binding, memory, 128, stream), KW_OK) << kw_last_error();
  device.end_capture(stream);

  EXPECT_EQ(other.launch(binding, nullptr, 0, stream), KW_OK) << kw_last_error();
  device.reset_calls();
  device.begin_capture(stream);
  EXPECT_EQ(other.launch(binding, nullptr, 0, stream), KW_OK) << kw_last_error();
  EXPECT_EQ(call.launch(plan, nullptr, 0, stream), KW_OK) << "workspace is there by now";
  device.end_capture(stream);
  EXPECT_EQ(device.calls().allocations, 0);

  kw_plan_destroy(plan);
  kw_unbind(binding);
  device.destroy_stream(stream);
  device.deallocate(memory, runtime::MemoryKind::kDevice);
  device.deallocate(x, runtime::MemoryKind::kDevice);
}

}  // namespace
}  // namespace kw::test
