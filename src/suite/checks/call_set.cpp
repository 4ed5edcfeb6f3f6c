// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/checks/call_set.hpp"

namespace kw::suite {
namespace {

void copy_all(runtime::Device& device, GuardedTensor& to, const GuardedTensor& from, void* stream) {
  device.copy(to.memory().data(), from.memory().data(), to.memory().bytes(), stream);
}

}  // namespace

CallSet::CallSet(runtime::Device& device, const Case& spec, const Catalog& catalog,
                 std::int64_t shift)
    : device_(device),
      problem_(spec.problem),
      source_(device, problem_, spec.seed, shift),
      target_(device, problem_, spec.seed, shift),
      consumed_(device, problem_, spec.seed, shift) {
  fill_inputs(source_, problem_, spec.fill, spec.seed, catalog);
  for (std::size_t i = 0; i < source_.operands().size(); ++i) {
    if (source_.operands()[i].role == Role::kOutput) source_[i].poison(kNanPoison);
  }
  upload_inputs();
  renew_arguments();
}

void CallSet::upload_inputs() {
  for (GuardedTensor& tensor : source_.tensors()) tensor.upload(nullptr);
}

void CallSet::renew_arguments() { arguments_ = make_arguments(problem_, target_.views()); }

void CallSet::reuse_arguments(CallSet& other) {
  const auto views = other.target_.views();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Operand& operand = target_.operands()[i];
    if (operand.item < 0)
      arguments_->set_tensor(problem_.contract->parameters[operand.parameter], views[i]);
  }
}

void CallSet::spoil(void* stream) {
  for (std::size_t i = 0; i < target_.operands().size(); ++i) {
    const bool index = !is_float(target_.operands()[i].spec.dtype);
    target_[i].poison_on_device(index ? 0 : kNanPoison, stream);
  }
}

void CallSet::produce(void* stream, const CallSet& from) {
  for (std::size_t i = 0; i < target_.operands().size(); ++i)
    copy_all(device_, target_[i], from.source_[i], stream);
}

void CallSet::consume(void* stream) {
  for (std::size_t i = 0; i < target_.operands().size(); ++i) {
    if (target_.operands()[i].is_written()) copy_all(device_, consumed_[i], target_[i], stream);
  }
}

Outputs CallSet::read(PlacedTensors& placed) {
  Outputs outputs(placed.operands().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!placed.operands()[i].is_written()) continue;
    placed[i].download(nullptr);
    outputs[i] = placed[i].element_bytes();
  }
  return outputs;
}

std::optional<std::string> CallSet::damage() {
  for (std::size_t i = 0; i < target_.operands().size(); ++i) {
    const Operand& operand = target_.operands()[i];
    target_[i].download(nullptr);
    if (const auto where = target_[i].damage()) return operand.name + ": " + *where;
    if (!operand.is_written() && target_[i].hash() != source_[i].hash())
      return operand.name + ": the call changed an input";
  }
  return std::nullopt;
}

}  // namespace kw::suite
