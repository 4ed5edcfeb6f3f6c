// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/selftest/probe_kernels.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double as_float(double value) { return static_cast<double>(static_cast<float>(value)); }

double truncated(DType dtype, double value) {
  const double nearest = round_to(dtype, value);
  if (std::fabs(nearest) <= std::fabs(value)) return nearest;
  return nearest - std::copysign(float_format(dtype).ulp(value), value);
}

// With the 10 mantissa bits of a tensor core's reduced format.
double narrowed(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 11)), exponent - 11);
}

// One element in the arithmetic of the plan: double for the oracle, float otherwise.
double affine(const ProbePlan& plan, DType dtype, double x, double gain, double bias) {
  const bool rounds =
      plan.two ? !plan.is(Sabotage::kMissingRounding) : plan.is(Sabotage::kExtraRounding);
  const bool exact = plan.self->reference;
  if (plan.is(Sabotage::kNarrowFactors)) {
    x = narrowed(x);
    gain = narrowed(gain);
  }
  double product = exact ? x * gain : as_float(as_float(x) * as_float(gain));
  if (rounds) product = round_to(dtype, product);
  const double sum = exact ? product + bias : as_float(as_float(product) + as_float(bias));
  if (plan.is(Sabotage::kTruncate)) return truncated(dtype, sum);
  if (plan.is(Sabotage::kScale)) return sum * 0.999;
  return sum;
}

std::vector<double> gains(const ProbePlan& plan, const TensorView& view) {
  std::vector<double> gain = read_elements(view);
  if (plan.is(Sabotage::kWrongWeightType) && dtype_bytes(view.dtype) == 2) {
    TensorView other = view;
    other.dtype = view.dtype == DType::kBF16 ? DType::kF16 : DType::kBF16;
    gain = read_elements(other);
  }
  if (plan.is(Sabotage::kOffByOneIndex) && gain.size() > 1)
    std::rotate(gain.begin(), gain.begin() + 1, gain.end());
  return gain;
}

// The rows of x; the one saboteur whose offsets are 32 bits wide reads past them.
std::vector<double> rows_of(const ProbePlan& plan, const TensorView& x) {
  const std::size_t bytes = dtype_bytes(x.dtype);
  const auto* const base = static_cast<const std::byte*>(x.data);
  if (x.numel() > 0) {
    const auto range = x.byte_range();
    volatile std::byte seen{};
    if (plan.is(Sabotage::kReadBefore)) seen = base[range.begin - 1];
    if (plan.is(Sabotage::kReadAfter)) seen = base[range.end];
    static_cast<void>(seen);
  }
  if (!plan.is(Sabotage::kNarrowOffset) || x.rank != 2) return read_elements(x);
  std::vector<double> values;
  for (std::int64_t r = 0; r < x.sizes[0]; ++r) {
    const auto offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(r * x.strides[0]));
    for (std::int64_t c = 0; c < x.sizes[1]; ++c)
      values.push_back(
          load_element(x.dtype, base + (offset + c * x.strides[1]) * static_cast<long>(bytes)));
  }
  return values;
}

// A last-bit change, far below what an oracle could object to.
double nudged(double value, int times = 1) { return value + std::fabs(value) * 0x1p-22 * times; }

// What happens to values that were right.
void plant_in_values(const ProbePlan& plan, const std::vector<double>& x,
                     const std::vector<double>& before, std::size_t width, const void* address,
                     std::vector<double>& y) {
  if (y.empty()) return;
  const std::size_t rows = y.size() / width;
  const auto leave = [&](std::size_t from, std::size_t to) {
    std::copy(before.begin() + static_cast<std::ptrdiff_t>(from),
              before.begin() + static_cast<std::ptrdiff_t>(to),
              y.begin() + static_cast<std::ptrdiff_t>(from));
  };
  switch (plan.self->sabotage) {
    case Sabotage::kZeros:
      y.assign(y.size(), 0.0);
      break;
    case Sabotage::kCopyInput:
      y = x;
      break;
    case Sabotage::kPermutedRows:
      std::rotate(y.begin(), y.begin() + static_cast<std::ptrdiff_t>(width), y.end());
      break;
    case Sabotage::kOneElement:
      y[y.size() / 2] *= 1.01;
      break;
    case Sabotage::kWrongOddWidth:
      if (width >= 9 && width % 2 == 1) y[width - 1] += 1;
      break;
    case Sabotage::kWrongFarRows:
      if (rows > 256) y[256 * width] += 1;
      break;
    case Sabotage::kSwallowNan:
      for (double& v : y) v = std::isnan(v) ? 0 : v;
      break;
    case Sabotage::kSpreadNan:
      for (std::size_t i = width; i < y.size(); ++i) y[i] = std::isnan(x[i - width]) ? kNan : y[i];
      break;
    case Sabotage::kNanEverywhere:
      y.assign(y.size(), kNan);
      break;
    case Sabotage::kSkipLastRow:
      leave(y.size() - width, y.size());
      break;
    case Sabotage::kWritesHalf:
      leave(y.size() / 2, y.size());
      break;
    case Sabotage::kSkipsTail:
      for (std::size_t r = 0; r < rows; ++r) leave(r * width + width / 8 * 8, (r + 1) * width);
      break;
    case Sabotage::kReadsOutput:
      y[0] += before[0] * 0.5;
      break;
    case Sabotage::kBatchDependent:
      if (rows >= 4) y[0] = nudged(y[0]);
      break;
    case Sabotage::kNondeterministic:
      y[0] = nudged(y[0], plan.calls);
      break;
    case Sabotage::kPositionDependent:
      for (std::size_t r = 1; r < rows; r += 2) y[r * width] = nudged(y[r * width]);
      break;
    case Sabotage::kPlacementDependent:
      if (reinterpret_cast<std::uintptr_t>(address) / 16 % 2 != 0) y[0] = nudged(y[0]);
      break;
    case Sabotage::kMemoByAddress:
      y = plan.memo.emplace(std::pair(address, y.size()), y).first->second;
      break;
    case Sabotage::kMemoByShape:
      y = plan.memo.emplace(std::pair(nullptr, y.size()), y).first->second;
      break;
    default:
      break;
  }
}

// Stray accesses, after the right ones.
void plant_in_memory(const ProbePlan& plan, const AffineArgs& args, std::size_t rows,
                     std::size_t width, unsigned char* workspace) {
  const std::size_t bytes = dtype_bytes(args.y.dtype);
  const auto y_bytes = static_cast<std::size_t>(args.y.numel()) * bytes;
  auto* const y = static_cast<unsigned char*>(args.y.data);
  auto* const x = static_cast<unsigned char*>(args.x.data);
  switch (plan.self->sabotage) {
    case Sabotage::kMutateInput:
      if (rows > 0) x[0] ^= 1;
      break;
    case Sabotage::kZeroInput:
      write_elements(args.x, std::vector<double>(rows * width, 0.0));
      break;
    case Sabotage::kMutatesAndRestores:
      if (rows > 0) {
        volatile unsigned char* const first = x;
        *first = *first ^ 1U;
        *first = *first ^ 1U;
      }
      break;
    case Sabotage::kWriteBefore:
      y[-1] = 0;
      break;
    case Sabotage::kWriteAfter:
      if (rows > 0) y[y_bytes] ^= 0x11;
      break;
    case Sabotage::kWriteGap:
      if (rows > 1 && args.y.strides[0] > static_cast<std::int64_t>(width))
        y[width * bytes] ^= 0x11;
      break;
    case Sabotage::kTailOverNextRow:
      for (std::size_t r = rows; r-- > 0;) {
        const std::size_t end = (r + 1) * width, over = (8 - width % 8) % 8;
        std::memset(y + end * bytes, 0, over * bytes);
      }
      break;
    case Sabotage::kWorkspaceOverflow:
      workspace[kProbeWorkspaceBytes] = 0;
      break;
    case Sabotage::kWorkspaceDirty:
      workspace[0] = 1;
      break;
    default:
      break;
  }
}

// Interleaved partial sums, as no sequential float sum of thousands of equal terms is accurate.
std::vector<double> column_sums(const ProbePlan& plan, const std::vector<double>& x,
                                std::size_t rows, std::size_t width) {
  constexpr std::size_t kPartials = 64;
  std::vector<double> partials(width * kPartials, 0.0), total(width, 0.0);
  const auto add = [&](double& sum, double term) {
    sum = plan.self->reference ? sum + term : as_float(as_float(sum) + as_float(term));
    if (plan.is(Sabotage::kNarrowAccumulator)) sum = round_to(DType::kBF16, sum);
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool drops = plan.is(Sabotage::kDropsContribution) || plan.is(Sabotage::kWrongGradient);
    if (drops && i / width == rows / 2) continue;
    add(partials[i / width % kPartials * width + i % width], x[i]);
  }
  for (std::size_t i = 0; i < partials.size(); ++i) add(total[i % width], partials[i]);
  return total;
}

}  // namespace

void run_affine(const ProbePlan& plan, const AffineArgs& args, unsigned char* workspace) {
  const std::vector<double> x = rows_of(plan, args.x), gain = gains(plan, args.gain);
  const std::size_t width = gain.size(), rows = width == 0 ? 0 : x.size() / width;
  const std::vector<double> before = read_elements(args.y);
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = affine(plan, args.y.dtype, x[i], gain[i % width], args.bias);
  if (plan.is(Sabotage::kReadsWorkspace) && !y.empty()) y[0] += workspace[100];
  plant_in_values(plan, x, before, width, args.x.data, y);
  write_elements(args.y, y);
  plant_in_memory(plan, args, rows, width, workspace);

  const bool leaves_total =
      plan.is(Sabotage::kSkipTotal) || (plan.is(Sabotage::kWrongEmpty) && rows == 0);
  if (args.total.present() && !leaves_total)
    write_elements(args.total, column_sums(plan, x, rows, width));
}

void run_affine_backward(const ProbePlan& plan, const AffineBackwardArgs& args, unsigned char*) {
  const std::vector<double> dy = read_elements(args.dy), x = read_elements(args.x),
                            gain = read_elements(args.gain);
  const std::size_t width = gain.size(), rows = width == 0 ? 0 : dy.size() / width;
  std::vector<double> dx(dy.size()), products(dy.size());
  for (std::size_t i = 0; i < dy.size(); ++i) {
    const double factor = gain[i % width];
    dx[i] = plan.self->reference ? dy[i] * factor : as_float(as_float(dy[i]) * as_float(factor));
    products[i] = plan.self->reference ? dy[i] * x[i] : as_float(as_float(dy[i]) * as_float(x[i]));
    if (plan.is(Sabotage::kNegatedGradient)) dx[i] = -dx[i];
  }
  write_elements(args.dx, dx);
  write_elements(args.dgain, column_sums(plan, products, rows, width));
}

void run_gather(const ProbePlan& plan, const GatherArgs& args, unsigned char*) {
  const std::vector<double> x = read_elements(args.x), index = read_elements(args.index);
  std::vector<double> y(x.size());
  const std::size_t rows = index.size(), width = rows == 0 ? 0 : x.size() / rows;
  for (std::size_t i = 0; i < y.size(); ++i) {
    auto row = static_cast<std::size_t>(index[i / width]);
    if (plan.is(Sabotage::kIgnoresIndex)) row = i / width;
    if (plan.is(Sabotage::kClampsIndex)) row = std::min(row, rows - 2);
    y[i] = x[row * width + i % width];
    const bool subnormal = std::fabs(y[i]) < 0x1p-126;
    if (plan.is(Sabotage::kFlushesSubnormals) && subnormal) y[i] = 0;
  }
  write_elements(args.y, y);
}

void run_update(const ProbePlan& plan, const UpdateArgs& args, unsigned char*) {
  if (plan.is(Sabotage::kLeavesState)) return;
  std::vector<double> state = read_elements(args.state);
  const std::vector<double> x = read_elements(args.x);
  const int times = plan.is(Sabotage::kUpdatesTwice) ? 2 : 1;
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += times * x[i];
  write_elements(args.state, state);
}

}  // namespace kw::suite
