// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/runtime/compile_only_device.hpp"

#include "kernelwright/base/fail.hpp"

namespace kw::runtime {
namespace {

constexpr const char* kRefusal = "{} is not there: kernels are compiled for it, and nothing runs";

class UnlaunchableFunction final : public Function {
 public:
  explicit UnlaunchableFunction(std::string refusal) : refusal_(std::move(refusal)) {}

  FunctionFacts facts() const noexcept override { return {}; }
  int resident_blocks(const LaunchShape&) const override {
    fail_text(Code::kUnsupported, refusal_);
  }
  Status launch(const LaunchShape&, const void*, std::size_t, void*) const noexcept override {
    return failed(StatusCode::kDevice, refusal_);
  }

 private:
  const std::string refusal_;
};

// Which entries the image has only its loader could tell; the compiler vouched for the one.
class UnlaunchableModule final : public Module {
 public:
  explicit UnlaunchableModule(std::string refusal) : function_(std::move(refusal)) {}

  const Function& function(std::string_view, unsigned) override { return function_; }

 private:
  const UnlaunchableFunction function_;
};

}  // namespace

std::unique_ptr<Module> CompileOnlyDevice::load_module(std::span<const std::byte>) {
  return std::make_unique<UnlaunchableModule>(fmt::format(kRefusal, hardware_.model));
}

void CompileOnlyDevice::refuse() const { fail(Code::kUnsupported, kRefusal, hardware_.model); }

}  // namespace kw::runtime
