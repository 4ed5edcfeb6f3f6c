// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/checked_call.hpp"

#include <algorithm>
#include <cstring>

namespace kw::suite {

Reason reason_of(Status status) noexcept {
  switch (status.code) {
    case StatusCode::kDevice:
    case StatusCode::kInternal:
      return Reason::kDeviceError;
    case StatusCode::kOutputStructure:
      return Reason::kOutputStructure;
    case StatusCode::kOutputAlias:
      return Reason::kUndeclaredAlias;
    default:
      return Reason::kRejectedValid;
  }
}

void CheckList::pass(std::string name) {
  checks_.push_back({std::move(name), true, Reason::kNone, {}, {}});
}

void CheckList::reject(std::string name, Reason reason, std::string message) {
  checks_.push_back({std::move(name), false, reason, std::move(message), {}});
}

const CheckResult* CheckList::first_failure() const noexcept {
  const auto it =
      std::find_if(checks_.begin(), checks_.end(), [](const auto& c) { return !c.passed; });
  return it == checks_.end() ? nullptr : &*it;
}

void CheckList::conclude(CaseResult& result) {
  if (const CheckResult* failure = first_failure()) {
    result.status = failure->reason == Reason::kMistrustedOracle ? CaseStatus::kMistrusted
                    : failure->reason == Reason::kDeviceError    ? CaseStatus::kError
                                                                 : CaseStatus::kFailed;
    result.reason = failure->reason;
    result.message = failure->name + ": " + failure->message;
  }
  result.checks = std::move(checks_);
}

CheckedCall::CheckedCall(const Problem& problem, PlacedTensors& placed, Callable& callable,
                         Scratch& scratch, runtime::Device& device, CheckList& checks)
    : problem_(problem),
      placed_(placed),
      callable_(callable),
      scratch_(scratch),
      device_(device),
      checks_(checks) {
  for (std::size_t i = 0; i < placed_.operands().size(); ++i) {
    const Operand& operand = placed_.operands()[i];
    if (operand.role != Role::kMutated) continue;
    originals_.emplace_back(i, GuardedTensor(device_, operand.spec, 0));
    originals_.back().second.copy_elements(placed_[i]);
  }
}

bool CheckedCall::run(std::uint8_t poison, Outputs& outputs) {
  return watch(poison, outputs,
               [&] { return callable_.call(*make_arguments(problem_, placed_.views())); });
}

bool CheckedCall::replay(std::uint8_t poison, Outputs& outputs) {
  return watch(poison, outputs, [&] { return callable_.replay(); });
}

bool CheckedCall::watch(std::uint8_t poison, Outputs& outputs,
                        const std::function<Status()>& call) {
  const WorkspaceSize workspace = callable_.prepare(problem_);
  for (const auto& [index, original] : originals_) placed_[index].copy_elements(original);
  const std::size_t count = placed_.operands().size();
  std::vector<StorageHash> before(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (placed_.operands()[i].role == Role::kOutput) placed_[i].poison(poison);
    if (!placed_.operands()[i].is_written()) before[i] = placed_[i].hash();
    placed_[i].upload(nullptr);
  }
  scratch_.arm(workspace, poison);
  const LentScratch lent(callable_, scratch_);
  const void* const thread_state = device_.thread_state();
  const Status status = call();
  // A thread that had none may get one: the vendor's runtime gives it this device on first use.
  if (thread_state != nullptr && device_.thread_state() != thread_state) {
    checks_.reject("thread_state", Reason::kWrongDevice,
                   "the call leaves the thread with another current device than it had");
    return false;
  }
  if (!status) {
    checks_.reject("launch", reason_of(status), last_message());
    return false;
  }
  device_.synchronize(nullptr);
  for (std::size_t i = 0; i < count; ++i) placed_[i].download(nullptr);
  watch_memory(before);
  outputs.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    if (placed_.operands()[i].is_written()) outputs[i] = placed_[i].element_bytes();
  }
  return !checks_.failed();
}

void CheckedCall::watch_memory(const std::vector<StorageHash>& before) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Operand& operand = placed_.operands()[i];
    if (!operand.is_written() && placed_[i].hash() == before[i]) continue;
    if (const auto where = placed_[i].damage()) {
      checks_.reject("canary:" + operand.name, Reason::kOobWrite,
                     "written outside the tensor: " + *where);
    } else if (!operand.is_written()) {
      checks_.reject("mutation:" + operand.name, Reason::kUndeclaredMutation,
                     "the call changed an input");
    }
  }
  if (const auto where = scratch_.overrun()) {
    checks_.reject("canary:workspace", Reason::kOobWrite, "written outside: " + *where);
  }
  if (const auto where = scratch_.unclean()) {
    checks_.reject("workspace", Reason::kUndeclaredMutation, *where);
  }
}

Difference difference(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                      std::size_t element_bytes) {
  Difference found;
  for (std::size_t e = 0; e < a.size(); e += element_bytes) {
    if (std::memcmp(&a[e], &b[e], element_bytes) == 0) continue;
    if (found.elements++ == 0) found.first = e / element_bytes;
    const auto holds = [&](const std::byte* at, std::uint8_t poison) {
      return std::all_of(at, at + element_bytes,
                         [&](std::byte v) { return v == std::byte{poison}; });
    };
    found.unwritten += holds(&a[e], kNanPoison) && holds(&b[e], kFinitePoison) ? 1 : 0;
  }
  return found;
}

}  // namespace kw::suite
