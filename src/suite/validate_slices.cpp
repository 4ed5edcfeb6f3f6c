// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "kernelwright/suite/checked_call.hpp"
#include "kernelwright/suite/device_inputs.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/judge.hpp"
#include "kernelwright/suite/slices.hpp"
#include "kernelwright/suite/validate.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kJudgedElements = std::int64_t{1} << 21;  // of one operand, for the oracle
constexpr int kSpread = 16;                                      // slices at equal distances

// Ascending. Those that arithmetic of 32 bits gets wrong come first when room is short.
std::vector<std::int64_t> pick_slices(const Problem& problem) {
  const std::int64_t count = slice_count(problem);
  std::vector<std::int64_t> wanted{0, count - 1, count / 2, 1, count - 2};
  std::int64_t longest = 1;
  for (const Operand& operand : operands_of(problem)) {
    if (!is_sliced(problem, operand)) continue;
    longest = std::max(longest, operand.spec.numel() / count);
    const std::int64_t step = view_of(operand.spec, nullptr).strides[0];
    if (step <= 0) continue;
    const auto bytes = static_cast<std::int64_t>(dtype_bytes(operand.spec.dtype));
    for (const std::int64_t limit : {std::int64_t{1} << 31, std::int64_t{1} << 32}) {
      for (const std::int64_t at : {limit / step, limit / bytes / step})
        wanted.insert(wanted.end(), {at - 1, at, at + 1});
    }
  }
  for (int i = 1; i < kSpread; ++i) wanted.push_back(count * i / kSpread);
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(kJudgedElements / longest, 2));
  std::set<std::int64_t> slices;
  for (const std::int64_t slice : wanted) {
    if (slice >= 0 && slice < count && slices.size() < room) slices.insert(slice);
  }
  return {slices.begin(), slices.end()};
}

class SliceValidation {
 public:
  SliceValidation(const Case& spec, Callable& callable, Scratch& scratch, const Platform& platform,
                  const ValidateOptions& options)
      : spec_(spec),
        callable_(callable),
        scratch_(scratch),
        platform_(platform),
        device_(platform.device),
        options_(options),
        placed_(device_, spec.problem, spec.seed) {}

  CaseResult run() {
    for (GuardedTensor& tensor : placed_.tensors()) tensor.upload_guards(nullptr);
    fill_inputs_on_device(placed_, spec_, platform_.catalog, *platform_.kernels, nullptr);
    if (call(kNanPoison)) {
      judge();
      if (!checks_.failed()) repeat();
    }
    checks_.conclude(result_);
    return std::move(result_);
  }

 private:
  // Every output starts as poison.
  bool call(std::uint8_t poison) {
    const WorkspaceSize workspace = callable_.prepare(spec_.problem);
    each_output(
        [&](GuardedTensor& tensor, const Operand&) { tensor.poison_on_device(poison, nullptr); });
    scratch_.arm(workspace, poison);
    const LentScratch lent(callable_, scratch_);
    const auto arguments = make_arguments(spec_.problem, placed_.views());
    if (const Status status = callable_.call(*arguments); !status) {
      checks_.reject("launch", reason_of(status), last_message());
      return false;
    }
    device_.synchronize(nullptr);
    for (std::size_t i = 0; i < placed_.operands().size(); ++i) {
      if (const auto where = placed_[i].guard_damage(nullptr))
        checks_.reject("canary:" + placed_.operands()[i].name, Reason::kOobWrite,
                       "written outside the tensor: " + *where);
    }
    if (const auto where = scratch_.overrun())
      checks_.reject("canary:workspace", Reason::kOobWrite, "written outside: " + *where);
    if (const auto where = scratch_.unclean())
      checks_.reject("workspace", Reason::kUndeclaredMutation, *where);
    return !checks_.failed();
  }

  void judge() {
    const std::vector<std::int64_t> slices = pick_slices(spec_.problem);
    const Case cut{slice_problem(spec_.problem, static_cast<std::int64_t>(slices.size())),
                   spec_.fill, spec_.seed};
    const auto inputs = slice_inputs(spec_, slices, platform_.catalog);
    PlacedTensors parts(device_, cut.problem, spec_.seed);
    each_output([&](GuardedTensor& tensor, const Operand& operand) {
      if (!is_sliced(spec_.problem, operand)) {
        unjudged(operand);
        return;
      }
      std::vector<double> values;
      for (const std::int64_t slice : slices) {
        const std::vector<double> part = download(slice_of(tensor.view(), slice));
        values.insert(values.end(), part.begin(), part.end());
      }
      write_elements(parts[index_of(operand)].host_view(), values);
    });
    Judgement judgement =
        judge_outputs(cut, parts, inputs, platform_.catalog,
                      [&](const Operand& operand) { return is_sliced(spec_.problem, operand); });
    result_.trust = judgement.trust;
    result_.outputs = std::move(judgement.outputs);
    for (CheckResult& check : judgement.checks) checks_.add(std::move(check));
    checks_.add({"slices",
                 true,
                 Reason::kNone,
                 {},
                 {{"judged", static_cast<double>(slices.size())},
                  {"of", static_cast<double>(slice_count(spec_.problem))}}});
  }

  void unjudged(const Operand& operand) {
    checks_.add({"unjudged:" + operand.name,
                 true,
                 Reason::kNone,
                 "depends on every slice; only a smaller problem can be judged in it",
                 {}});
  }

  std::vector<double> download(TensorView view) {
    const auto range = view.byte_range();
    std::vector<std::byte> bytes(static_cast<std::size_t>(range.end - range.begin));
    device_.copy(bytes.data(), static_cast<std::byte*>(view.data) + range.begin,
                 range.end - range.begin, nullptr);
    device_.synchronize(nullptr);
    view.data = bytes.data() - range.begin;
    return read_elements(view);
  }

  // A second call on other poison: what differs was not written, depends on what memory held, or
  // on chance.
  void repeat() {
    if (!options_.deterministic) return;
    std::vector<runtime::Buffer> first(placed_.operands().size());
    each_output([&](GuardedTensor& tensor, const Operand& operand) {
      runtime::Buffer& copy = first[index_of(operand)];
      copy = runtime::Buffer(device_, tensor.memory().bytes());
      device_.copy(copy.data(), tensor.memory().data(), copy.bytes(), nullptr);
    });
    if (!call(kFinitePoison)) return;
    each_output([&](GuardedTensor& tensor, const Operand& operand) {
      if (has_gaps(tensor.spec())) return;  // those hold the poison
      const runtime::Buffer& copy = first[index_of(operand)];
      platform_.kernels->compare(copy.data(), tensor.memory().data(), copy.bytes(), nullptr);
      if (!platform_.kernels->take_difference(nullptr)) return;
      checks_.reject("repeat:" + operand.name, Reason::kNondeterministic,
                     "two calls on equal inputs gave other bits: elements were not written, depend "
                     "on what memory held before, or on chance");
    });
    if (!checks_.failed()) checks_.pass("repeat");
  }

  static bool has_gaps(const TensorSpec& spec) { return !spec.contiguous; }

  template <typename Visit>
  void each_output(Visit visit) {
    for (std::size_t i = 0; i < placed_.operands().size(); ++i) {
      if (placed_.operands()[i].is_written()) visit(placed_[i], placed_.operands()[i]);
    }
  }
  std::size_t index_of(const Operand& operand) const {
    return static_cast<std::size_t>(&operand - placed_.operands().data());
  }

  const Case& spec_;
  Callable& callable_;
  Scratch& scratch_;
  const Platform& platform_;
  runtime::Device& device_;
  const ValidateOptions& options_;
  PlacedTensors placed_;
  CheckList checks_;
  CaseResult result_;
};

}  // namespace

double device_case_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Operand& operand : operands_of(problem)) {
    const auto size = static_cast<double>(operand.spec.numel()) *
                      static_cast<double>(dtype_bytes(operand.spec.dtype));
    bytes += operand.is_written() ? 2 * size : size;  // the first call's outputs are kept
  }
  return bytes;
}

CaseResult validate_slices(const Case& spec, Callable& callable, Scratch& scratch,
                           const Platform& platform, const ValidateOptions& options) {
  return SliceValidation(spec, callable, scratch, platform, options).run();
}

}  // namespace kw::suite
