// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/ffi/front_call.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/string.h>

#include "kernelwright/base/text.hpp"
#include "kernelwright/core/field_access.hpp"
#include "kernelwright/ffi/errors.hpp"
#include "kernelwright/ffi/tensors.hpp"
#include "kernelwright/ops/process.hpp"

namespace kw::ffi {
namespace {

using tvm::ffi::Any;
using tvm::ffi::AnyView;
using tvm::ffi::Array;
using tvm::ffi::Tensor;
using tvm::ffi::TypeIndex;

bool is_tensor(const AnyView& argument) noexcept {
  return argument.type_index() == TypeIndex::kTVMFFITensor ||
         argument.type_index() == TypeIndex::kTVMFFIDLTensorPtr;
}

[[noreturn]] void wrong_type(const Contract& contract, const Parameter& parameter,
                             const std::string& wanted, const AnyView& got) {
  std::string type = got.GetTypeKey();  // "int", "ffi.SmallStr", "ffi.Array"
  if (const auto dot = type.rfind('.'); dot != std::string::npos) type.erase(0, dot + 1);
  if (type == "SmallStr" || type == "String") type = "str";
  raise("TypeError", fmt::format("{}: '{}' ({}) is {}; got {}", contract.operation, parameter.name,
                                 parameter.help, wanted, type));
}

// Scratch from the framework's allocator on its current stream; given back when the call has been
// enqueued, which that allocator orders with the stream.
class FrameworkWorkspace final : public WorkspaceSource {
 public:
  FrameworkWorkspace(runtime::Device& device, DLDevice where, void* stream)
      : device_(device), where_(where), stream_(stream) {}

  void* take(std::int64_t bytes, std::int64_t zeroed_bytes) noexcept override {
    try {
      memory_ = allocate_bytes(bytes, where_);
      void* const data = memory_->data_ptr();
      if (zeroed_bytes > 0) device_.fill(data, 0, zeroed_bytes, stream_);
      return data;
    } catch (const std::exception&) {
      return nullptr;  // the slot says how much it wanted
    }
  }

 private:
  runtime::Device& device_;
  DLDevice where_;
  void* stream_;
  std::optional<Tensor> memory_;
};

}  // namespace

// One call in the making.
struct FrontCall::Frame {
  explicit Frame(const Contract& contract) : contract(contract) {
    if (contract.args.size > sizeof inline_args) heap.resize(contract.args.size);
    args = heap.empty() ? inline_args : heap.data();
    contract.args.construct(args);
  }
  ~Frame() { contract.args.destroy(args); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const Contract& contract;
  alignas(64) std::byte inline_args[2048];
  std::vector<std::byte> heap;
  void* args = nullptr;
  std::vector<std::vector<TensorView>> lists;
  const Parameter* first = nullptr;  // the first tensor's, whose device is everyone's
  runtime::DeviceName device;
  std::uint64_t wanted = 0;  // outputs to allocate, by index
  Inference scratch;         // of a call that is not remembered
};

FrontCall::FrontCall(const Contract& contract, int variant, DeviceKind device)
    : contract_(contract),
      variant_(variant),
      device_(device),
      slot_(contract.operation, contract.variants[static_cast<std::size_t>(variant)].name) {
  if (contract.parameters.size() > 64) {
    raise("RuntimeError", contract.operation + ": more than 64 parameters");
  }
}

Any FrontCall::operator()(tvm::ffi::PackedArgs arguments) {
  const auto count = static_cast<std::size_t>(arguments.size());
  if (count != contract_.parameters.size()) {
    raise("TypeError", fmt::format("{} takes {} arguments, one per parameter; got {}",
                                   contract_.operation, contract_.parameters.size(), count));
  }
  Frame frame(contract_);
  for (std::size_t i = 0; i < count; ++i) {
    const Parameter& parameter = contract_.parameters[i];
    const AnyView argument = arguments[static_cast<int>(i)];
    if (parameter.is_scalar()) {
      read_scalar(frame, i, argument);
    } else if (parameter.role == Role::kOutput && read_wish(frame, i, argument)) {
      continue;
    } else if (parameter.kind == Kind::kTensor) {
      read_tensor(frame, i, argument);
    } else {
      read_list(frame, i, argument);
    }
  }
  if (frame.first == nullptr) frame.device = {device_, 0};

  const DLDevice where = dl_device(frame.device);
  runtime::Device& port = device(frame.device);
  std::vector<Any> made;
  if (frame.wanted != 0) {
    const std::vector<Missing>& missing = infer(frame).outputs;
    made.reserve(missing.size());
    for (const Missing& output : missing) {
      const Parameter& parameter = contract_.parameters[output.parameter];
      if (!output.is_list) {
        Tensor tensor = allocate(output.specs.front(), where, parameter.name);
        field_at<TensorView>(frame.args, parameter.offset) =
            kw::view_of(output.specs.front(), tensor.data_ptr());
        made.emplace_back(std::move(tensor));
        continue;
      }
      Array<Tensor> tensors;
      std::vector<TensorView>& views = frame.lists.emplace_back();
      for (const TensorSpec& spec : output.specs) {
        tensors.push_back(allocate(spec, where, parameter.name));
        views.push_back(kw::view_of(spec, tensors.back().data_ptr()));
      }
      field_at<TensorList>(frame.args, parameter.offset) = {
          views.data(), static_cast<std::int64_t>(views.size())};
      made.emplace_back(std::move(tensors));
    }
  }

  if (device_ == DeviceKind::kCuda) {
    void* const stream = TVMFFIEnvGetStream(where.device_type, where.device_id);
    FrameworkWorkspace workspace(port, where, stream);
    raise_if_failed(slot_.call(contract_, frame.args, {&port, stream, &workspace}));
  } else {
    raise_if_failed(slot_.call(contract_, frame.args, {&port, nullptr, nullptr}));
  }

  if (made.empty()) return {};
  if (made.size() == 1) return std::move(made.front());
  return Array<Any>(made.begin(), made.end());
}

TensorView FrontCall::read_view(Frame& frame, const Parameter& parameter, const AnyView& argument) {
  if (!is_tensor(argument)) {
    wrong_type(contract_, parameter, parameter.is_optional ? "a tensor or None" : "a tensor",
               argument);
  }
  const DLTensor& tensor = *argument.cast<DLTensor*>();
  const runtime::DeviceName device = device_of(tensor, parameter.name);
  if (frame.first == nullptr) {
    frame.first = &parameter;
    frame.device = device;
    // Before an output is looked at, which Python may have allocated where the slot is bound.
    if (device.kind != device_) {
      raise(
          "ValueError",
          fmt::format("{}: '{}' lies on {}, but this slot is bound for {}; move it there, or bind "
                      "slots for that device",
                      contract_.operation, parameter.name, device_name_text(device),
                      device_kind_name(device_)));
    }
  } else if (device.kind != frame.device.kind || device.index != frame.device.index) {
    raise("ValueError", fmt::format("{}: '{}' lies on {}, but '{}' on {}; move one of them",
                                    contract_.operation, parameter.name, device_name_text(device),
                                    frame.first->name, device_name_text(frame.device)));
  }
  return view_of(tensor, parameter.name);
}

void FrontCall::read_tensor(Frame& frame, std::size_t index, const AnyView& argument) {
  if (argument.type_index() == TypeIndex::kTVMFFINone) return;
  const Parameter& parameter = contract_.parameters[index];
  field_at<TensorView>(frame.args, parameter.offset) = read_view(frame, parameter, argument);
}

void FrontCall::read_list(Frame& frame, std::size_t index, const AnyView& argument) {
  if (argument.type_index() == TypeIndex::kTVMFFINone) return;
  const Parameter& parameter = contract_.parameters[index];
  const auto array = argument.as<Array<Any>>();
  if (!array) wrong_type(contract_, parameter, "a list of tensors", argument);
  std::vector<TensorView> views;
  for (const Any& element : *array) views.push_back(read_view(frame, parameter, element));
  static const TensorView none;
  const auto& kept = frame.lists.emplace_back(std::move(views));
  field_at<TensorList>(frame.args, parameter.offset) = {kept.empty() ? &none : kept.data(),
                                                        static_cast<std::int64_t>(kept.size())};
}

// Whether that settles an output; false: the caller brought it.
bool FrontCall::read_wish(Frame& frame, std::size_t index, const AnyView& argument) {
  const Parameter& parameter = contract_.parameters[index];
  const bool is_none = argument.type_index() == TypeIndex::kTVMFFINone;
  if (!is_none && argument.type_index() != TypeIndex::kTVMFFIBool) return false;
  const auto& variant = contract_.variants[static_cast<std::size_t>(variant_)].name;
  const bool asked = !is_none && argument.cast<bool>();
  if (!parameter.in_variant(variant)) {
    if (asked) {
      raise("ValueError",
            fmt::format("{}/{} has no output '{}'; it belongs to {}", contract_.operation, variant,
                        parameter.name, join(parameter.variants)));
    }
    return true;
  }
  if (asked || !parameter.is_optional) frame.wanted |= std::uint64_t{1} << index;
  return true;
}

void FrontCall::read_scalar(Frame& frame, std::size_t index, const AnyView& argument) {
  if (argument.type_index() == TypeIndex::kTVMFFINone) return;
  const Parameter& parameter = contract_.parameters[index];
  switch (parameter.kind) {
    case Kind::kFloat: {
      const auto value = argument.try_cast<double>();
      if (!value) wrong_type(contract_, parameter, "a number", argument);
      if (parameter.is_optional_field) {
        field_at<std::optional<double>>(frame.args, parameter.offset) = *value;
      } else {
        field_at<double>(frame.args, parameter.offset) = *value;
      }
      return;
    }
    case Kind::kInt: {
      if (argument.type_index() != TypeIndex::kTVMFFIInt) {
        wrong_type(contract_, parameter, "an integer", argument);
      }
      const auto value = argument.cast<std::int64_t>();
      if (parameter.is_optional_field) {
        field_at<std::optional<std::int64_t>>(frame.args, parameter.offset) = value;
      } else {
        field_at<std::int64_t>(frame.args, parameter.offset) = value;
      }
      return;
    }
    case Kind::kBool: {
      const auto value = argument.try_cast<bool>();
      if (!value) wrong_type(contract_, parameter, "True or False", argument);
      field_at<bool>(frame.args, parameter.offset) = *value;
      return;
    }
    default: {
      const auto name = argument.try_cast<tvm::ffi::String>();
      if (!name) wrong_type(contract_, parameter, "one of " + join(parameter.choices), argument);
      const auto found =
          std::find(parameter.choices.begin(), parameter.choices.end(), std::string(*name));
      if (found == parameter.choices.end()) {
        raise("ValueError", contract_.operation + ": " +
                                unknown_name_message("'" + parameter.name + "'", std::string(*name),
                                                     parameter.choices));
      }
      field_at<int>(frame.args, parameter.offset) =
          static_cast<int>(found - parameter.choices.begin());
    }
  }
}

const FrontCall::Inference& FrontCall::infer(Frame& frame) {
  const auto wants_the_same = [&](const Inference& known) { return known.wanted == frame.wanted; };
  if (const Inference* known = recent_.find(frame.args, frame.device.index, wants_the_same))
    return *known;
  Key key;
  if (inspect_call(contract_, frame.args, frame.device.index, key) != CallCheck::kOk) {
    return frame.scratch = inferred(frame);  // or the error that says what is wrong
  }
  const std::lock_guard lock(mutex_);
  const Inference* found = nullptr;
  const auto [begin, end] = inferences_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    if (it->second->wanted == frame.wanted) found = it->second.get();
  }
  if (found == nullptr) {
    Inference made = inferred(frame);
    if (inferences_.size() == kMaxInferences) return frame.scratch = std::move(made);
    made.pattern = CallPattern(contract_, frame.args, frame.device.index);
    found =
        inferences_.emplace(key, std::make_unique<const Inference>(std::move(made)))->second.get();
  }
  recent_.remember(*found);
  return *found;
}

FrontCall::Inference FrontCall::inferred(const Frame& frame) const {
  return translated([&] {
    Problem problem = problem_from_args(contract_, variant_, frame.args);
    for (std::size_t i = 0; i < problem.values.size(); ++i) {
      if ((frame.wanted >> i & 1) == 0) continue;
      problem.values[i].tensor.present = true;
      problem.values[i].tensor.rank = -1;
    }
    check(problem);
    Inference inference;
    inference.wanted = frame.wanted;
    for (std::size_t i = 0; i < problem.values.size(); ++i) {
      if ((frame.wanted >> i & 1) == 0) continue;
      const bool is_list = contract_.parameters[i].kind == Kind::kTensorList;
      const ParameterValue& value = problem.values[i];
      inference.outputs.push_back({i, is_list, is_list ? value.list : std::vector{value.tensor}});
    }
    return inference;
  });
}

runtime::Device& FrontCall::device(runtime::DeviceName name) {
  const auto index = static_cast<std::size_t>(name.index);
  if (index >= kMaxDevices) {
    raise("ValueError", fmt::format("device {} is beyond the {} that are supported",
                                    device_name_text(name), kMaxDevices));
  }
  if (runtime::Device* known = devices_[index].load(std::memory_order_acquire)) return *known;
  runtime::Device& opened = translated([&]() -> runtime::Device& { return process_device(name); });
  devices_[index].store(&opened, std::memory_order_release);
  return opened;
}

}  // namespace kw::ffi
