// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>

namespace qwen3_5_moe {
namespace {

// Sweeps continue until both this much time is spent and `repeats` are done, or up to kMaxSweeps.
constexpr double kSweepBudgetMs = 150.0;
constexpr std::size_t kMaxSweeps = 25;

SweepTime time_calls(std::vector<RecordedCall>& calls, const kw::OpSlot* slot, int repeats) {
  const auto least = static_cast<std::size_t>(repeats);
  std::vector<double> sweeps;
  double spent = 0.0;
  while (sweeps.size() < least || (spent < kSweepBudgetMs && sweeps.size() < kMaxSweeps)) {
    const auto start = std::chrono::steady_clock::now();
    for (RecordedCall& call : calls) {
      if (call.slot == slot) call.run();
    }
    const std::chrono::duration<double, std::milli> elapsed =
        std::chrono::steady_clock::now() - start;
    sweeps.push_back(elapsed.count());
    spent += elapsed.count();
  }
  std::ranges::sort(sweeps);
  const double median = sweeps[sweeps.size() / 2];
  return {median, (sweeps[sweeps.size() * 3 / 4] - sweeps[sweeps.size() / 4]) / median};
}

Tensor copy_of(const Tensor& tensor) {
  Tensor copy = empty_like(tensor);
  std::copy_n(tensor.data(), tensor.numel(), copy.data());
  return copy;
}

}  // namespace

double max_difference(const Tensor& a, const Tensor& b) {
  double largest = 0.0;
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    for (std::int64_t i = 0; i < a.size(-1); ++i) {
      const double difference = std::fabs(static_cast<double>(a.row(r)[i]) - b.row(r)[i]);
      if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
      largest = std::max(largest, difference);
    }
  }
  return largest;
}

std::vector<SlotMeasurement> measure_slots(std::vector<RecordedCall>& calls, kw::SlotSet& slots,
                                           int repeats) {
  std::vector<SlotMeasurement> results;
  for (const kw::OpSlot* slot : slots.slots()) {
    SlotMeasurement result{.slot = slot, .is_bound = slot->bound()};
    result.calls = static_cast<int>(std::ranges::count(calls, slot, &RecordedCall::slot));
    if (result.is_bound) result.bound = time_calls(calls, slot, repeats);
    results.push_back(result);
  }
  std::vector<std::vector<Tensor>> bound_outputs(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].slot->bound()) continue;
    std::ranges::transform(calls[i].outputs, std::back_inserter(bound_outputs[i]), copy_of);
  }

  slots.unbind();
  for (SlotMeasurement& result : results) {
    result.eager = time_calls(calls, result.slot, repeats);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].slot != result.slot || !result.is_bound) continue;
      for (std::size_t o = 0; o < calls[i].outputs.size(); ++o) {
        result.max_error =
            std::max(result.max_error, max_difference(calls[i].outputs[o], bound_outputs[i][o]));
      }
    }
  }
  return results;
}

}  // namespace qwen3_5_moe
