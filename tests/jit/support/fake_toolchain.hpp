// SPDX-License-Identifier: Apache-2.0
// A compiler that is not there: its binaries are images of FakeDevice, and tests decide who it is,
// what it reads, how long it takes and when it fails.
#pragma once

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/jit/toolchain.hpp"
#include "support/fake_device.hpp"

namespace kw::test {

class FakeToolchain final : public jit::Toolchain {
 public:
  std::string build = "1";   // "" is no compiler at all
  std::string inodes = "a";  // changes with every installation, unlike the build
  std::vector<std::string> flags{"-O2"};
  std::vector<jit::Dependency> dependencies;
  bool with_dependencies = false;
  std::string objects_to;  // a description: its binaries cannot be loaded
  std::string refusal;     // a log: every compilation fails with it
  std::chrono::milliseconds delay{0};
  std::atomic<int> compiles{0}, identities{0};

  std::string kind() const override { return "fake"; }
  jit::CompileSettings settings(const std::string&) const override { return {"fake", flags, {}}; }
  std::string stamp() const override { return build.empty() ? "" : build + inodes; }
  Digest identity() override {
    ++identities;
    if (build.empty()) fail(Code::kEnvironment, "there is no fake compiler; install one");
    return sha256("fake " + build);
  }
  std::string description() override { return "fake " + build; }
  std::string objection(const std::string& description) const override {
    return description == objects_to ? "made by " + description + ", too new" : "";
  }
  bool reads_system_headers() const override { return with_dependencies; }
  jit::Binary compile(const jit::CompileJob& job) override {
    ++compiles;
    std::this_thread::sleep_for(delay);
    if (!refusal.empty()) throw jit::CompileFailure(refusal);
    jit::Binary binary;
    binary.image = FakeDevice::image({job.unit.entry});
    binary.log = "fine";
    binary.facts = {24, 0, 0, 0, 128};
    binary.dependencies = dependencies;
    return binary;
  }
};

}  // namespace kw::test
