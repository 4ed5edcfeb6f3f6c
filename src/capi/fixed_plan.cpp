// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/fixed_plan.hpp"

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::capi {
namespace {

// Says where a call leaves the problem of a plan: each free dimension may take any size, alignment
// may be better, and all else is as planned.
class Fit {
 public:
  Fit(const Problem& planned, const Problem& call) : planned_(planned), call_(call) {}

  void require() const {
    const Contract& contract = *planned_.contract;
    for (std::size_t i = 0; i < contract.parameters.size(); ++i) {
      const Parameter& p = contract.parameters[i];
      const ParameterValue &want = planned_.values[i], &got = call_.values[i];
      if (p.kind == Kind::kTensor) {
        require_tensor(p.name, want.tensor, got.tensor);
      } else if (p.kind == Kind::kTensorList) {
        if (want.list_present != got.list_present || want.list.size() != got.list.size()) {
          refuse(p.name, fmt::format("is a list of {} tensors", got.list.size()),
                 want.list_present ? std::to_string(want.list.size()) : "none");
        }
        for (std::size_t k = 0; k < want.list.size(); ++k) {
          require_tensor(fmt::format("{}[{}]", p.name, k), want.list[k], got.list[k]);
        }
      } else if (contract.call_steps[i].value_in_key) {
        require_number(p, want, got);
      }
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& got,
                           const std::string& want) const {
    fail(Code::kInvalidArgument, "'{}' {}, and the plan was made for {}; its problem is '{}'", name,
         got, want, problem_text(planned_));
  }

  static std::string shape_of(const TensorSpec& spec) {
    std::vector<std::string> dims;
    for (const std::int64_t size : spec.shape()) {
      dims.push_back(size == kFreeDim ? "?" : std::to_string(size));
    }
    return "[" + join(dims, ",") + "]";
  }

  void require_tensor(const std::string& name, const TensorSpec& want,
                      const TensorSpec& got) const {
    if (want.present != got.present) {
      refuse(name, got.present ? "is given" : "is absent",
             want.present ? "one that is given" : "none");
    }
    if (!want.present) return;
    if (want.dtype != got.dtype) {
      refuse(name, fmt::format("is {}", dtype_name(got.dtype)),
             std::string(dtype_name(want.dtype)));
    }
    bool same = want.rank == got.rank;
    for (std::size_t i = 0; same && i < static_cast<std::size_t>(want.rank); ++i) {
      same = want.sizes[i] == kFreeDim || want.sizes[i] == got.sizes[i];
    }
    if (!same) refuse(name, "has shape " + shape_of(got), shape_of(want));
    if (want.contiguous && !got.contiguous) refuse(name, "is not contiguous", "one that is");
    for (std::size_t i = 0; !want.contiguous && i < static_cast<std::size_t>(want.rank); ++i) {
      if (got.contiguous || want.strides[i] != got.strides[i]) {
        refuse(name, "is laid out otherwise", "other strides");
      }
    }
    if (got.align < want.align) {
      refuse(name, fmt::format("is aligned to {} bytes", got.align),
             fmt::format("{} bytes", want.align));
    }
  }

  // A default is the same written out or left out; an optional scalar without a value is none.
  void require_number(const Parameter& p, const ParameterValue& want,
                      const ParameterValue& got) const {
    const auto in_effect = [&](const ParameterValue& value) {
      return value.scalar_given ? value.number : p.default_value;
    };
    const bool same_presence = !p.is_optional || want.scalar_given == got.scalar_given;
    if (same_presence && in_effect(want) == in_effect(got)) return;
    const auto text = [](const ParameterValue& value) {
      return value.scalar_given ? number_text(value.number) : std::string("the default");
    };
    refuse(p.name, "is " + text(got), text(want));
  }

  const Problem &planned_, &call_;
};

}  // namespace

FixedPlan::FixedPlan(const Place& place, Problem problem, CfgPins pins)
    : binding_(place.context.binding(problem.operation(), problem.variant_name())),
      port_(place.port),
      pins_(std::move(pins)),
      recipe_(binding_.decide(problem, port_, pins_)),
      plan_(binding_.build(recipe_, port_)) {}

Problem FixedPlan::problem_of(const void* args) const {
  Problem call = problem_from_args(contract(), recipe_.problem.variant, args);
  check(call);
  return call;
}

Recipe FixedPlan::decide(const Problem& call) const {
  Fit(recipe_.problem, call).require();
  Recipe own = binding_.decide(call, port_, pins_);
  if (own.implementation != recipe_.implementation) {
    fail(Code::kInvalidArgument, "{} serves this call, and the plan is of {}; its problem is '{}'",
         own.implementation->info.name, recipe_.implementation->info.name, problem_text(problem()));
  }
  return own;
}

std::shared_ptr<const CallScratch> FixedPlan::fit(const void* args) {
  Key key;
  const CallCheck looked = inspect_call(contract(), args, port_.hardware().index, key);
  if (looked == CallCheck::kOk) {
    const std::shared_lock lock(mutex_);
    if (const auto it = calls_.find(key); it != calls_.end()) return it->second;
  }
  check_call(contract(), recipe_.problem.variant, args);
  Recipe own = decide(problem_of(args));
  auto scratch =
      std::make_shared<const CallScratch>(CallScratch{own.workspace, std::move(own.layout)});
  if (looked != CallCheck::kOk) return scratch;  // too many shapes for a key
  const std::unique_lock lock(mutex_);
  if (calls_.size() == kRememberedCalls) calls_.clear();
  return calls_.emplace(key, std::move(scratch)).first->second;
}

WorkspaceSize FixedPlan::workspace(const void* args) { return decide(problem_of(args)).workspace; }

void FixedPlan::require_workspace(const CallScratch& scratch, const Stream& stream) const {
  const auto [bytes, zeroed_bytes] = scratch.size;
  if (bytes == 0) return;
  if (stream.workspace != nullptr) {
    if (stream.workspace->take(bytes, zeroed_bytes) != nullptr) return;
    fail(Code::kInvalidArgument,
         "{}: the caller's workspace is too small; the call needs {} bytes, the first {} zero",
         problem().label(), bytes, zeroed_bytes);
  }
  if (port_.workspace(stream.handle, bytes, zeroed_bytes) == nullptr)
    port_.reserve_workspace(stream.handle, bytes, zeroed_bytes);
}

Status FixedPlan::launch(const void* args, const CallScratch& scratch,
                         const Stream& stream) const noexcept {
  LaunchFrame frame{stream.handle, nullptr, nullptr, nullptr};
  const auto [bytes, zeroed_bytes] = scratch.size;
  if (bytes > 0) {
    frame.block = static_cast<std::byte*>(
        stream.workspace != nullptr ? stream.workspace->take(bytes, zeroed_bytes)
                                    : port_.workspace(stream.handle, bytes, zeroed_bytes));
    if (frame.block == nullptr)
      return failed(StatusCode::kInternal, "the stream has no workspace after reserving it");
    frame.workspace = frame.block + scratch.layout.offset;
    frame.layout = &scratch.layout;
  }
  return plan_.implementation().functions.launch(plan_.get(), args, frame);
}

}  // namespace kw::capi
