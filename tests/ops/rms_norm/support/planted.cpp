// SPDX-License-Identifier: Apache-2.0
#include "ops/rms_norm/support/planted.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>

#include "kernelwright/ops/rms_norm/contract.hpp"
#include "kernelwright/runtime/stream.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/selftest/emulated_device.hpp"

namespace kw::ops::rms_norm {
namespace {

using suite::EmulatedDevice;
using suite::load_element;
using suite::store_element;

struct Plan {
  Fault fault = Fault::kNone;
  bool standard = false;
  EmulatedDevice* device = nullptr;
  runtime::OwnedStream side;
  mutable std::map<std::pair<const void*, std::int64_t>, std::vector<std::byte>> answers;
};

float load(DType dtype, const std::byte* base, std::int64_t element) {
  return static_cast<float>(
      load_element(dtype, base + element * static_cast<std::int64_t>(dtype_bytes(dtype))));
}

void normalise(const Plan& plan, const Args& args) {
  const std::int64_t rows = args.x.sizes[0], width = args.x.sizes[1];
  const auto* const x = static_cast<const std::byte*>(args.x.data);
  const auto* const weight = static_cast<const std::byte*>(args.weight.data);
  auto* const y = static_cast<std::byte*>(args.y.data);
  const DType type = args.x.dtype;
  const DType weight_type = plan.fault == Fault::kWeightType ? type : args.weight.dtype;
  const auto size = static_cast<std::int64_t>(dtype_bytes(type));
  const auto put = [&](std::int64_t element, float value) {
    store_element(type, y + element * size, static_cast<double>(value));
  };
  const std::int64_t last = plan.fault == Fault::kLastRow ? rows - 2 : rows - 1;
  for (std::int64_t r = last; r >= 0; --r) {
    std::int64_t offset = r * args.x.strides[0];
    if (plan.fault == Fault::kNarrowOffset)
      offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(offset));
    std::vector<float> row(static_cast<std::size_t>(width));
    bool nan = false;
    for (std::int64_t c = 0; c < width; ++c) {
      row[static_cast<std::size_t>(c)] = load(type, x, offset + c * args.x.strides[1]);
      nan |= std::isnan(row[static_cast<std::size_t>(c)]);
    }
    const std::size_t lanes = plan.fault == Fault::kTreeByRowCount && rows >= 8 ? 8 : 16;
    std::vector<float> partial(lanes, 0.0F);
    for (std::size_t c = 0; c < row.size(); ++c) partial[c % lanes] += row[c] * row[c];
    float sum = 0;
    for (const float p : partial) sum += p;
    const float mean = sum / static_cast<float>(width);
    const float rstd = 1.0F / std::sqrt(mean + static_cast<float>(args.eps));
    const bool rounds = plan.standard || plan.fault == Fault::kExtraRounding;
    for (std::int64_t c = 0; c < width; ++c) {
      float value = row[static_cast<std::size_t>(c)] * rstd;
      if (rounds) value = static_cast<float>(suite::round_to(type, static_cast<double>(value)));
      value *= load(weight_type, weight, c);
      if (plan.fault == Fault::kSwallowsNan && nan) value = 0;
      put(r * width + c, value);
    }
    if (plan.fault == Fault::kTailOverNextRow) {
      for (std::int64_t c = width; c % 8 != 0; ++c) put(r * width + c, 0);
    }
    if (plan.fault == Fault::kInPlaceContiguous && args.x.contiguous())
      std::memcpy(static_cast<std::byte*>(args.x.data) + offset * size, y + r * width * size,
                  static_cast<std::size_t>(width * size));
  }
  if (plan.fault != Fault::kCached) return;
  const auto bytes = static_cast<std::size_t>(rows * width * size);
  const auto answer =
      plan.answers.emplace(std::pair(args.x.data, rows), std::vector<std::byte>(y, y + bytes))
          .first;
  std::copy_n(answer->second.begin(), bytes, y);  // of no rows y is null
}

}  // namespace

Implementation planted(Fault fault, DeviceKind device) {
  ImplementationInfo info;
  info.solution = "planted";
  info.device = device;
  info.name = std::string(device_kind_name(device)) + ".planted.rms_norm";
  info.description = "for tests";
  info.batch_invariant = true;
  info.variants = {"standard", "fp32"};
  ImplementationFunctions f;
  f.supports = [](void*, const Problem& problem, const Hardware&) -> std::optional<Rejection> {
    const ParameterValue& x = problem.value("x");
    if (x.tensor.rank != 2 || x.tensor.dtype == DType::kF64 || problem.value("rstd").tensor.present)
      return Rejection{Rejection::Code::kShape, "rows and columns, no rstd, no f64"};
    return std::nullopt;
  };
  f.workspace = [](void*, const Problem&) { return WorkspaceSize{}; };
  f.choose = [](void*, const Problem& problem, const Hardware&, const CfgPins&) {
    return Specialization{problem.variant_name(), std::make_shared<const int>(0)};
  };
  f.prepare = [](void* self, PrepareRequest& request) -> void* {
    auto plan = std::make_unique<Plan>();
    plan->fault = *static_cast<const Fault*>(self);
    plan->standard = request.problem.variant_name() == "standard";
    plan->device = dynamic_cast<EmulatedDevice*>(&request.device);
    if (plan->fault == Fault::kSideStream) plan->side = runtime::OwnedStream(*plan->device);
    return plan.release();
  };
  f.launch = [](const void* raw, const void* args, const LaunchFrame& frame) noexcept {
    const auto& plan = *static_cast<const Plan*>(raw);
    void* const stream = plan.fault == Fault::kSideStream ? plan.side.handle() : frame.stream;
    return plan.device->enqueue(
        stream, [&plan, call = *static_cast<const Args*>(args)] { normalise(plan, call); });
  };
  f.destroy = [](void* plan) noexcept { delete static_cast<Plan*>(plan); };
  f.describe = [](const void*) { return PlanFacts{}; };
  static std::deque<Fault> faults;  // implementations hold a bare pointer
  return Implementation{std::move(info), f, &faults.emplace_back(fault)};
}

}  // namespace kw::ops::rms_norm
