// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/oracle.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

// The host as references see it: no instruction set, no streams.
class HostPort final : public DevicePort {
 public:
  HostPort() {
    hardware_.kind = DeviceKind::kCpu;
    hardware_.model = "host";
    hardware_.capability = 1;
  }
  const Hardware& hardware() const noexcept override { return hardware_; }
  bool is_capturing(void*) const noexcept override { return false; }
  void reserve_workspace(void*, std::int64_t bytes, std::int64_t) override {
    memory_.assign(static_cast<std::size_t>(bytes + 7) / 8, 0.0);
  }
  void* workspace(void*, std::int64_t bytes, std::int64_t) noexcept override {
    return static_cast<std::size_t>(bytes) <= 8 * memory_.size() ? memory_.data() : nullptr;
  }

 private:
  Hardware hardware_;
  std::vector<double> memory_;
};

bool admits_f64(const DTypeRule& rule, const std::set<std::string>& wide) {
  return std::any_of(rule.terms.begin(), rule.terms.end(), [&](const DTypeTerm& term) {
    return term.kind == DTypeTerm::Kind::kFixed ? term.dtype == DType::kF64 && rule.terms.size() > 1
                                                : wide.count(term.symbol) != 0;
  });
}

// Dtype symbols that can be f64, directly or through another symbol.
std::set<std::string> wide_symbols(const Contract& contract) {
  std::set<std::string> wide;
  for (std::size_t before = contract.parameters.size() + 1; before != wide.size();) {
    before = wide.size();
    for (const Parameter& parameter : contract.parameters) {
      if (!parameter.dtype.declares.empty() && admits_f64(parameter.dtype, wide))
        wide.insert(parameter.dtype.declares);
    }
  }
  return wide;
}

}  // namespace

DenseTensor::DenseTensor(const TensorSpec& spec)
    : spec_(spec),
      storage_((static_cast<std::size_t>(spec.numel()) * dtype_bytes(spec.dtype) + 7) / 8) {
  if (!spec.contiguous) fail(Code::kInternal, "an oracle's tensors are dense");
}

std::span<const std::byte> DenseTensor::bytes() const noexcept {
  return {reinterpret_cast<const std::byte*>(storage_.data()),
          static_cast<std::size_t>(spec_.numel()) * dtype_bytes(spec_.dtype)};
}

std::span<const double> DenseTensor::values() {
  if (spec_.dtype == DType::kF64) return storage_;
  if (converted_.empty()) converted_ = read_elements(view());
  return converted_;
}

Problem in_f64(const Problem& problem) {
  Problem wide = problem;
  const std::set<std::string> symbols = wide_symbols(*problem.contract);
  for (std::size_t i = 0; i < wide.values.size(); ++i) {
    const DTypeRule& rule = problem.contract->parameters[i].dtype;
    if (!admits_f64(rule, symbols)) continue;
    wide.values[i].tensor.dtype = DType::kF64;
    for (TensorSpec& spec : wide.values[i].list) spec.dtype = DType::kF64;
  }
  return dense(wide);
}

const Implementation* find_reference(const Operation& operation) noexcept {
  for (const Implementation& implementation : operation.implementations) {
    if (implementation.info.solution == "reference" &&
        implementation.info.device == DeviceKind::kCpu)
      return &implementation;
  }
  return nullptr;
}

std::vector<DenseTensor> Oracle::run(const Problem& problem,
                                     std::span<const std::vector<double>> inputs) const {
  const Implementation* reference = find_reference(catalog_.operation(problem.operation()));
  if (reference == nullptr) {
    fail(Code::kUnsupported,
         "operation '{}' has no implementation of solution 'reference' on the CPU, so nothing can "
         "judge the others; add src/ops/<operation>/reference.cpp",
         problem.operation());
  }
  HostPort port;
  const auto& functions = reference->functions;
  if (const auto rejection = functions.supports(reference->self, problem, port.hardware())) {
    fail(Code::kUnsupported, "the oracle {} rejects '{}': {}", reference->info.name,
         problem_text(problem), rejection->text);
  }
  const std::vector<Operand> operands = operands_of(problem);
  std::vector<DenseTensor> tensors;
  std::vector<TensorView> views;
  tensors.reserve(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    tensors.emplace_back(operands[i].spec);
    views.push_back(tensors.back().view());
    if (operands[i].is_read()) write_elements(views.back(), inputs[i]);
  }

  const Specialization specialization =
      functions.choose(reference->self, problem, port.hardware(), {});
  std::vector<std::unique_ptr<PreparedPart>> parts;
  PrepareRequest request{problem, specialization, port, parts};
  struct OwnedPlan {
    void* plan;
    void (*destroy)(void*) noexcept;
    ~OwnedPlan() { destroy(plan); }
  } const owned{functions.prepare(reference->self, request), functions.destroy};
  const WorkspaceSize scratch = functions.workspace(reference->self, problem);
  if (scratch.bytes > 0) port.reserve_workspace(nullptr, scratch.bytes, scratch.zeroed_bytes);
  const auto arguments = make_arguments(problem, views);
  LaunchFrame frame;
  if (scratch.bytes > 0)
    frame.workspace = port.workspace(nullptr, scratch.bytes, scratch.zeroed_bytes);
  throw_if_failed(functions.launch(owned.plan, arguments->data(), frame));
  return tensors;
}

}  // namespace kw::suite
