// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/call_arguments.hpp"

#include <algorithm>
#include <cmath>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/implementation.hpp"

namespace kw::capi {
namespace {

constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

// The beginning of every message: whose argument it is.
struct Subject {
  const Contract& contract;
  std::string name;

  template <typename... Values>
  [[noreturn]] void refuse(fmt::format_string<Values...> format, Values&&... values) const {
    fail_text(Code::kInvalidArgument, contract.operation + ": '" + name + "' " +
                                          fmt::format(format, std::forward<Values>(values)...));
  }
};

// Sizes and strides whose elements no address space holds would overflow later sums.
void require_addressable(const TensorView& view, const Subject& subject) {
  std::int64_t count = 1, last = 0;
  bool is_empty = false, overflow = false;
  for (int i = 0; i < view.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t size = view.sizes[at], stride = view.strides[at];
    if (size < 0) subject.refuse("has the negative size {} in dimension {}", size, i);
    if (stride < 0) subject.refuse("has the negative stride {} in dimension {}", stride, i);
    is_empty |= size == 0;
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(count, size, &count);
    overflow |= size > 0 && __builtin_mul_overflow(size - 1, stride, &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;
  const auto width = static_cast<std::int64_t>(dtype_bytes(view.dtype));
  if (!is_empty && (overflow || count > kMostBytes / width || last > kMostBytes / width)) {
    subject.refuse("has sizes or strides that no memory holds");
  }
}

TensorView read_view(const kw_tensor& from, const Subject& subject) {
  if (from.rank < 0 || from.rank > kMaxRank) {
    subject.refuse("has rank {}; it may be 0 to {}", from.rank, kMaxRank);
  }
  if (from.dtype < 0 || from.dtype >= kNumDTypes) {
    subject.refuse("has dtype {}; enum kw_dtype has 0 to {}", from.dtype, kNumDTypes - 1);
  }
  if (from.rank > 0 && from.sizes == nullptr) {
    subject.refuse("has rank {}, and its sizes are null", from.rank);
  }
  const auto rank = static_cast<std::size_t>(from.rank);
  TensorView view;
  view.data = from.data;
  view.dtype = static_cast<DType>(from.dtype);
  view.rank = static_cast<std::int8_t>(from.rank);
  std::int64_t stride = 1;
  bool overflow = false, is_empty = false;
  for (std::size_t i = rank; i-- > 0;) {
    view.sizes[i] = from.sizes[i];
    view.strides[i] = from.strides == nullptr ? stride : from.strides[i];
    is_empty |= from.sizes[i] == 0;
    overflow |= from.sizes[i] > 1 && __builtin_mul_overflow(stride, from.sizes[i], &stride);
  }
  if (overflow && !is_empty && from.strides == nullptr) {
    subject.refuse("has sizes or strides that no memory holds");
  }
  require_addressable(view, subject);
  return view;
}

void read_tensor(const kw_tensor& from, const Parameter& parameter, Arguments& to) {
  const Subject subject{to.contract(), parameter.name};
  if (from.rank == KW_ABSENT) return;
  if (parameter.kind == Kind::kTensor) {
    if (from.rank == KW_LIST) subject.refuse("is a list; it takes one tensor");
    to.set_tensor(parameter, read_view(from, subject));
    return;
  }
  if (from.rank != KW_LIST) subject.refuse("is one tensor; it takes a list (rank KW_LIST)");
  if (from.list_size < 0) subject.refuse("has the negative list size {}", from.list_size);
  if (from.list == nullptr && from.list_size > 0) {
    subject.refuse("is a list of {} tensors, and their address is null", from.list_size);
  }
  std::vector<TensorView> views;
  for (std::int64_t i = 0; i < from.list_size; ++i) {
    const Subject element{to.contract(), fmt::format("{}[{}]", parameter.name, i)};
    if (from.list[i].rank == KW_LIST) element.refuse("is a list; lists hold tensors");
    if (from.list[i].rank == KW_ABSENT) element.refuse("is absent; lists hold tensors");
    views.push_back(read_view(from.list[i], element));
  }
  to.set_list(parameter, std::move(views));
}

void read_scalar(const kw_scalar& from, const Parameter& parameter, Arguments& to) {
  const Subject subject{to.contract(), parameter.name};
  constexpr std::string_view kKinds[] = {"the default", "a float", "an int", "a bool", "text"};
  if (from.kind < KW_SCALAR_DEFAULT || from.kind > KW_SCALAR_TEXT) {
    subject.refuse("has scalar kind {}; enum kw_scalar_kind has 0 to {}", from.kind,
                   static_cast<int>(KW_SCALAR_TEXT));
  }
  if (from.kind == KW_SCALAR_DEFAULT) return;
  const auto require = [&](bool fits, std::string_view wanted) {
    if (!fits) subject.refuse("is {}; it takes {}", kKinds[from.kind], wanted);
  };
  const auto set_integer = [&] {
    if (from.integer > kMaxInteger || from.integer < -kMaxInteger) {
      subject.refuse("is {}; integers reach to 2^53 in magnitude", from.integer);
    }
    to.set_number(parameter, static_cast<double>(from.integer));
  };
  switch (parameter.kind) {
    case Kind::kFloat:
      require(from.kind == KW_SCALAR_FLOAT || from.kind == KW_SCALAR_INT, "a float or an int");
      if (from.kind == KW_SCALAR_INT) return set_integer();
      if (std::isnan(from.number)) subject.refuse("is not a number");
      return to.set_number(parameter, from.number);
    case Kind::kInt:
      require(from.kind == KW_SCALAR_INT, "an int");
      return set_integer();
    case Kind::kBool:
      require(from.kind == KW_SCALAR_BOOL, "a bool");
      if (from.integer != 0 && from.integer != 1) {
        subject.refuse("is the bool {}; it may be 0 or 1", from.integer);
      }
      return set_integer();
    default:
      break;
  }
  require(from.kind == KW_SCALAR_TEXT, "text: " + join(parameter.choices));
  if (from.text == nullptr) subject.refuse("is text, and its address is null");
  for (std::size_t i = 0; i < parameter.choices.size(); ++i) {
    if (parameter.choices[i] != from.text) continue;
    return to.set_number(parameter, static_cast<double>(i));
  }
  fail_text(Code::kInvalidArgument, to.contract().operation + ": " +
                                        unknown_name_message("value of '" + parameter.name + "',",
                                                             from.text, parameter.choices));
}

// Names are gathered for the error only: a call comes through here twice.
void require_count(const Contract& contract, const void* address, int count, bool tensors) {
  const auto is_meant = [&](const Parameter& parameter) {
    return parameter.is_tensor() == tensors;
  };
  const std::string_view what = tensors ? "tensors" : "scalars";
  const auto wanted =
      std::count_if(contract.parameters.begin(), contract.parameters.end(), is_meant);
  if (count != wanted) {
    std::vector<std::string> names;
    for (const Parameter& parameter : contract.parameters) {
      if (is_meant(parameter)) names.push_back(parameter.name);
    }
    fail(Code::kInvalidArgument, "{}: {} {} were given; its contract has {}: {}",
         contract.operation, count, what, wanted, join(names));
  }
  if (count > 0 && address == nullptr) {
    fail(Code::kInvalidArgument, "{}: '{}' is null; there must be {}", contract.operation, what,
         count);
  }
}

}  // namespace

void read_arguments(const kw_arguments& from, Arguments& to) {
  const Contract& contract = to.contract();
  require_count(contract, from.tensors, from.num_tensors, true);
  require_count(contract, from.scalars, from.num_scalars, false);
  const kw_tensor* tensor = from.tensors;
  const kw_scalar* scalar = from.scalars;
  for (const Parameter& parameter : contract.parameters) {
    if (parameter.is_tensor()) {
      read_tensor(*tensor++, parameter, to);
    } else {
      read_scalar(*scalar++, parameter, to);
    }
  }
}

CallerWorkspace::CallerWorkspace(void* address, std::int64_t bytes)
    : address_(address), bytes_(bytes) {
  if (bytes < 0) fail(Code::kInvalidArgument, "workspace_bytes is {}", bytes);
  if (address == nullptr && bytes > 0) {
    fail(Code::kInvalidArgument, "the workspace of {} bytes has a null address", bytes);
  }
  if (reinterpret_cast<std::uintptr_t>(address) % kWorkspaceAlignment != 0) {
    fail(Code::kInvalidArgument, "the workspace is not aligned to {} bytes", kWorkspaceAlignment);
  }
}

void require_stream(const DevicePort& port, const void* stream) {
  if (stream == nullptr || port.hardware().kind != DeviceKind::kCpu) return;
  fail(Code::kInvalidArgument, "the CPU has no streams; pass null as 'stream'");
}

}  // namespace kw::capi
