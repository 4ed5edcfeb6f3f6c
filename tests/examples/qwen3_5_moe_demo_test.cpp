// SPDX-License-Identifier: Apache-2.0
// The demo against implementations of known quality: it must accept rounding and refuse an error.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "kernelwright/backend/cpu/cpu_device.hpp"
#include "kernelwright/base/error.hpp"
#include "kernelwright/ops/rms_norm/contract.hpp"
#include "qwen3_5_moe/demo.hpp"
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {
namespace {

using kw::ops::rms_norm::Args;

// In double, then times `factor`: a kernel that is exact, or wrong by factor - 1.
template <double (*factor)()>
kw::Status launch_scaled(const void*, const void* args, const kw::LaunchFrame&) noexcept {
  const Args& a = *static_cast<const Args*>(args);
  const int last = a.x.rank - 1;
  const std::int64_t size = a.x.sizes[last], rows = size == 0 ? 0 : a.x.numel() / size;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::int64_t from = 0, to = 0, rest = r;
    for (int i = last - 1; i >= 0; --i) {
      from += rest % a.x.sizes[i] * a.x.strides[i];
      to += rest % a.x.sizes[i] * a.y.strides[i];
      rest /= a.x.sizes[i];
    }
    const float* x = static_cast<const float*>(a.x.data) + from;
    const float* w = static_cast<const float*>(a.weight.data);
    float* y = static_cast<float*>(a.y.data) + to;
    double sum = 0.0;
    for (std::int64_t i = 0; i < size; ++i) sum += static_cast<double>(x[i]) * x[i];
    const double rstd = factor() / std::sqrt(sum / static_cast<double>(size) + a.eps);
    for (std::int64_t i = 0; i < size; ++i) y[i] = static_cast<float>(x[i] * rstd * (1.0 + w[i]));
  }
  return {};
}

double exactly() { return 1.0; }
double one_percent_more() { return 1.01; }
double not_a_number() { return std::nan(""); }

kw::Implementation implementation(const char* solution, decltype(&launch_scaled<exactly>) launch) {
  kw::Implementation result;
  result.info.name = std::string("cpu.") + solution + ".rms_norm";
  result.info.description = "an implementation of known quality";
  result.info.solution = solution;
  result.functions = {
      .supports = [](void*, const kw::Problem&,
                     const kw::Hardware&) { return std::optional<kw::Rejection>(); },
      .workspace = [](void*, const kw::Problem&) { return kw::WorkspaceSize{}; },
      .choose =
          [](void*, const kw::Problem&, const kw::Hardware&, const kw::CfgPins&) {
            return kw::Specialization{"{}", nullptr};
          },
      .prepare = [](void*, kw::PrepareRequest&) -> void* { return new int(0); },
      .launch = launch,
      .destroy = [](void* plan) noexcept { delete static_cast<int*>(plan); },
      .describe = [](const void*) { return kw::PlanFacts{}; }};
  return result;
}

class Demo : public testing::Test {
 protected:
  Demo() {
    catalog_.add({&Args::contract(),
                  {implementation("exact", launch_scaled<exactly>),
                   implementation("off", launch_scaled<one_percent_more>),
                   implementation("nan", launch_scaled<not_a_number>)}});
    for (const kw::OpSlot* slot : model_slots().slots()) {
      const std::string operation(slot->operation());
      if (operation != "rms_norm")
        catalog_.add_known_field({operation + "_implementation", operation, "", ""});
    }
    write("One text is as good as another: 12345, 67890.");
    options_.repeats = 1;
  }

  void write(std::string_view text) {
    // One file per process: tests of other builds may run beside this one.
    text_path_ = testing::TempDir() + "/kw_demo_" + std::to_string(getpid()) + ".txt";
    std::ofstream(text_path_, std::ios::binary) << text;
    options_.text_path = text_path_;
  }

  ~Demo() override { std::filesystem::remove(text_path_); }

  int run(const char* target) {
    kw::Settings settings;
    settings.set(catalog_, "rms_norm", {target}, kw::Source::kExplicit, "test");
    kw::Context context(catalog_, settings, device_);
    return run_demo(options_, context, out_);
  }

  std::string error_of(kw::Code code) {
    try {
      run("exact");
    } catch (const kw::Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "no error";
  }

  kw::Catalog catalog_;
  kw::runtime::CpuDevice device_;
  DemoOptions options_;
  std::ostringstream out_;
  std::string text_path_;
};

TEST_F(Demo, AcceptsAnExactKernelAndNamesIt) {
  EXPECT_EQ(run("exact"), 0) << out_.str();
  EXPECT_NE(out_.str().find("cpu.exact.rms_norm"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("they agree"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("chunk_gated_delta_rule/standard"), std::string::npos) << out_.str();
  for (const kw::OpSlot* slot : model_slots().slots()) EXPECT_FALSE(slot->bound()) << slot->repr();
}

TEST_F(Demo, EagerAgreesWithItselfBitForBit) {
  EXPECT_EQ(run("eager"), 0) << out_.str();
  EXPECT_NE(out_.str().find("difference 0.0e+00, allowed 0.0e+00"), std::string::npos)
      << out_.str();
}

TEST_F(Demo, RefusesAKernelThatIsOnePercentOff) {
  EXPECT_EQ(run("off"), 1) << out_.str();
  EXPECT_NE(out_.str().find("they DIFFER"), std::string::npos) << out_.str();
}

TEST_F(Demo, RefusesNaN) {
  EXPECT_EQ(run("nan"), 1) << out_.str();
  EXPECT_NE(out_.str().find("inf"), std::string::npos) << out_.str();
}

TEST_F(Demo, MissingAndShortTextsAreErrorsBeforeAnyOutput) {
  write("x");
  EXPECT_NE(error_of(kw::Code::kInvalidArgument).find("has 1 bytes"), std::string::npos);
  write("");
  EXPECT_NE(error_of(kw::Code::kInvalidArgument).find("has 0 bytes"), std::string::npos);
  std::filesystem::remove(text_path_);
  EXPECT_NE(error_of(kw::Code::kNotFound).find("--text"), std::string::npos);
  options_.text_path = testing::TempDir();
  EXPECT_NE(error_of(kw::Code::kNotFound).find("cannot read"), std::string::npos);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(Demo, OptionsOutOfRangeAreErrors) {
  options_.max_bytes = 1;
  EXPECT_NE(error_of(kw::Code::kInvalidArgument).find("at least 2"), std::string::npos);
}

}  // namespace
}  // namespace qwen3_5_moe
