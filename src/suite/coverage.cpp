// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/coverage.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/core.h>

#include "kernelwright/suite/operand.hpp"

namespace kw::suite {
namespace {

enum AxisIndex : std::size_t { kVariant, kDType, kFill, kLayout, kSize };

constexpr int kVectorAlign = 16;  // problem text prints only what lies below it

// By elements of the largest tensor.
struct SizeClass {
  const char* name;
  std::int64_t below;
};
constexpr SizeClass kSizes[] = {{"empty", 1},
                                {"below 4 Ki", 1 << 12},
                                {"below 1 Mi", 1 << 20},
                                {"below 64 Mi", 1 << 26},
                                {"below 2^31", std::int64_t{1} << 31},
                                {"2^31 and more", std::numeric_limits<std::int64_t>::max()}};

std::vector<std::string_view> layouts_of(const std::vector<Operand>& operands) {
  bool strided = false, repeated = false, misaligned = false;
  for (const Operand& operand : operands) {
    const TensorSpec& spec = operand.spec;
    misaligned |= spec.align < kVectorAlign;
    if (spec.contiguous) continue;
    const auto end = spec.strides.begin() + spec.rank;
    const bool zero = std::find(spec.strides.begin(), end, 0) != end;
    (zero ? repeated : strided) = true;
  }
  std::vector<std::string_view> names;
  if (strided) names.emplace_back("strided");
  if (repeated) names.emplace_back("stride 0");
  if (misaligned) names.emplace_back("misaligned");
  if (names.empty()) names.emplace_back("contiguous");
  return names;
}

std::string_view size_of(const std::vector<Operand>& operands) {
  std::int64_t largest = 0;
  for (const Operand& operand : operands) largest = std::max(largest, operand.spec.numel());
  return std::find_if(std::begin(kSizes), std::end(kSizes),
                      [&](const SizeClass& size) { return largest < size.below; })
      ->name;
}

bool is_unclaimed(Reason reason) noexcept {
  return reason == Reason::kNotImplemented || reason == Reason::kHardwareUnmet ||
         reason == Reason::kDependencyMissing;
}

}  // namespace

void Axis::count(std::string_view value, int cases) {
  const auto it = std::find_if(values.begin(), values.end(),
                               [&](const auto& entry) { return entry.first == value; });
  if (it == values.end())
    values.emplace_back(value, cases);
  else
    it->second += cases;
}

std::string Coverage::limit_message() const {
  std::string reasons;
  for (const auto& [reason, number] : not_applicable.values)
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", reason, number);
  return fmt::format(
      "{} leaves out {} of the {} cases whose variant it implements ({:.0f} %; {:.0f} % are "
      "allowed): {}. Widen its domain, declare fewer variants, or judge single problems",
      implementation, domain_excluded, cases - unclaimed, 100 * excluded_share(), 100 * limit,
      reasons);
}

CoverageTally::CoverageTally(const Target& target, const Request& request) {
  const Contract& contract = *target.operation->contract;
  coverage_.operation = contract.operation;
  coverage_.implementation = target.implementation->info.name;
  if (request.is_batch()) coverage_.limit = request.max_domain_excluded;
  coverage_.axes = {{"variant", {}}, {"dtype", {}}, {"fill", {}}, {"layout", {}}, {"size", {}}};
  const std::vector<std::string>& own = target.implementation->info.variants;
  for (const Variant& variant : contract.variants) {
    if (own.empty() || std::find(own.begin(), own.end(), variant.name) != own.end())
      coverage_.axes[kVariant].count(variant.name, 0);
  }
  for (const Fill fill : fill_catalogue()) coverage_.axes[kFill].count(fill_name(fill), 0);
  for (const char* layout : {"contiguous", "strided", "stride 0", "misaligned"})
    coverage_.axes[kLayout].count(layout, 0);
  for (const SizeClass& size : kSizes) coverage_.axes[kSize].count(size.name, 0);
}

void CoverageTally::add(const Problem& problem, const CaseResult& result) {
  ++coverage_.cases;
  const std::vector<Operand> operands = operands_of(problem);
  const bool judged =
      result.status != CaseStatus::kNotApplicable && result.status != CaseStatus::kSkipped;
  if (result.status == CaseStatus::kNotApplicable) {
    coverage_.not_applicable.count(reason_name(result.reason), 1);
    ++(is_unclaimed(result.reason) ? coverage_.unclaimed : coverage_.domain_excluded);
    if (is_unclaimed(result.reason)) return;
  }
  if (judged) ++coverage_.judged;
  const int one = judged ? 1 : 0;
  coverage_.axes[kVariant].count(problem.variant_name(), one);
  if (!operands.empty()) coverage_.axes[kDType].count(dtype_name(operands.front().spec.dtype), one);
  coverage_.axes[kFill].count(fill_name(result.fill), one);
  for (const std::string_view layout : layouts_of(operands))
    coverage_.axes[kLayout].count(layout, one);
  coverage_.axes[kSize].count(size_of(operands), one);
}

}  // namespace kw::suite
