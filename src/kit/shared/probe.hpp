// SPDX-License-Identifier: Apache-2.0
// The operations that the self-test sabotages: what they compute, with what is planted in their
// values and their use of memory. One body for host and device. Freestanding.
#pragma once

#include "kernelwright/kit/shared/fill.hpp"
#include "kernelwright/kit/shared/sabotage.hpp"

namespace kw::kit {

enum class ProbeOperation : int { kAffine, kAffineBackward, kGather, kUpdate };
inline constexpr const char* kProbeOperationNames[] = {"affine", "affine_backward", "gather",
                                                       "update"};

struct ProbeCfg {
  ProbeOperation operation = ProbeOperation::kAffine;
  FillType type = FillType::kF32;
  bool two = false;    // variant `two`: the product is rounded
  bool exact = false;  // the oracle: in double, and nothing is rounded
  Sabotage sabotage = Sabotage::kNone;
  int threads = 256;  // of the one block

  static constexpr void visit(auto& self, auto& v) {
    v("operation", self.operation, kProbeOperationNames);
    v("type", self.type, kFillTypeNames);
    v("two", self.two);
    v("exact", self.exact);
    v("sabotage", self.sabotage, kSabotageNames);
    v("threads", self.threads);
  }
};

inline constexpr int kMaxProbeRank = 8;
inline constexpr int kProbeWorkspaceBytes = 128, kProbeZeroedBytes = 64;
// What a stray write leaves: no guard of the suite holds it. Plain stores, so that a page guard
// sees a write and not the read of a changed byte.
inline constexpr unsigned char kNoCanary = 0x5a;

// Sizes and strides count elements; strides are not negative.
struct ProbeTensor {
  void* data = nullptr;  // null: not wanted
  long long count = 0;
  int rank = 0;
  long long sizes[kMaxProbeRank] = {};
  long long strides[kMaxProbeRank] = {};
};

//              affine  affine_backward  gather  update
//   x          x       x                x       x
//   factor     gain    gain             index
//   upstream           dy
//   result     y       dx               y       state
//   sum        total   dgain
struct ProbeArgs {
  ProbeTensor x, factor, upstream, result, sum;
  double bias = 0;
  unsigned char* workspace = nullptr;
  int calls = 0;  // of the plan so far, with this one
  // Where the arguments stand when the work runs; null: these are they.
  const ProbeArgs* elsewhere = nullptr;
  // Counts the runs of work that does nothing but the first time; null: it always works.
  int* runs = nullptr;
};

constexpr int probe_bytes(FillType type) {
  return type == FillType::kF64 || type == FillType::kI64    ? 8
         : type == FillType::kF32 || type == FillType::kI32  ? 4
         : type == FillType::kF16 || type == FillType::kBF16 ? 2
                                                             : 1;
}

// Significand bits beyond the hidden one.
constexpr int probe_digits(FillType type) {
  return type == FillType::kF64   ? 52
         : type == FillType::kF32 ? 23
         : type == FillType::kF16 ? 10
                                  : 7;
}

constexpr double as_float(double value) { return static_cast<double>(static_cast<float>(value)); }

// With `digits` bits beyond the hidden one: towards zero, or to nearest even. Of a normal number.
constexpr double shortened(double value, int digits, bool to_nearest) {
  const int lost = 52 - digits;
  if (lost == 0) return value;
  auto bits = __builtin_bit_cast(unsigned long long, value);
  if (to_nearest) bits += (1ULL << (lost - 1)) - 1 + ((bits >> lost) & 1);
  return __builtin_bit_cast(double, bits >> lost << lost);
}

// A last-bit change of a float, far below what an oracle could object to.
constexpr double nudged(double value, int times = 1) {
  return value + (value < 0 ? -value : value) * 0x1p-22 * times;
}

// Of indices: a case has fewer than 2^32 elements, and 64-bit division is a subroutine on a device.
constexpr long long quotient(long long a, long long b) {
  return static_cast<unsigned>(a) / static_cast<unsigned>(b);
}
constexpr long long remainder(long long a, long long b) {
  return static_cast<unsigned>(a) % static_cast<unsigned>(b);
}

// A Port has, for elements of a type at an offset: load and store, which rounds to nearest even;
// rounded(type, value); thread(), threads() and barrier() of the block that runs this.
template <typename Port>
class Probe {
 public:
  Probe(ProbeCfg cfg, const ProbeArgs& args, Port port) : cfg_(cfg), args_(args), port_(port) {
    width_ = args.factor.count;
    if (cfg.operation == ProbeOperation::kGather)
      width_ = width_ == 0 ? 0 : quotient(args.x.count, width_);
    rows_ = width_ == 0 ? 0 : quotient(args.x.count, width_);
  }

  void run() const {
    switch (cfg_.operation) {
      case ProbeOperation::kAffine:
        return affine();
      case ProbeOperation::kAffineBackward:
        return affine_backward();
      case ProbeOperation::kGather:
        return gather();
      case ProbeOperation::kUpdate:
        return update();
    }
  }

 private:
  bool is(Sabotage sabotage) const { return cfg_.sabotage == sabotage; }
  FillType sum_type() const {
    const bool wide = cfg_.operation == ProbeOperation::kAffine && cfg_.type != FillType::kF64;
    return wide ? FillType::kF32 : cfg_.type;
  }

  long long offset_of(const ProbeTensor& tensor, long long index) const {
    long long offset = 0;
    for (int d = tensor.rank - 1; d >= 0; --d) {
      const long long step = remainder(index, tensor.sizes[d]) * tensor.strides[d];
      offset += is(Sabotage::kNarrowOffset) ? static_cast<int>(static_cast<unsigned>(step)) : step;
      index = quotient(index, tensor.sizes[d]);
    }
    return offset;
  }
  double load(const ProbeTensor& tensor, long long index) const {
    return port_.load(cfg_.type, tensor.data, offset_of(tensor, index));
  }
  double load_x(long long index) const {
    if (is(Sabotage::kWrongStride)) return port_.load(cfg_.type, args_.x.data, index);
    return load(args_.x, index);
  }
  void store(const ProbeTensor& tensor, long long index, double value) const {
    port_.store(cfg_.type, tensor.data, offset_of(tensor, index), value);
  }

  double load_gain(long long column) const {
    if (is(Sabotage::kOffByOneIndex)) column = remainder(column + 1, width_);
    FillType type = cfg_.type;
    if (is(Sabotage::kWrongWeightType) && probe_bytes(type) == 2)
      type = type == FillType::kBF16 ? FillType::kF16 : FillType::kBF16;
    return port_.load(type, args_.factor.data, offset_of(args_.factor, column));
  }

  double multiplied(double a, double b) const {
    return cfg_.exact ? a * b : as_float(as_float(a) * as_float(b));
  }

  double affine_of(double x, double gain) const {
    const bool rounds = cfg_.two ? !is(Sabotage::kMissingRounding) : is(Sabotage::kExtraRounding);
    if (is(Sabotage::kNarrowFactors)) {  // to the 10 bits of a tensor core's reduced format
      x = shortened(x, 10, true);
      gain = shortened(gain, 10, true);
    }
    double product = multiplied(x, gain);
    if (rounds) product = port_.rounded(cfg_.type, product);
    const double sum =
        cfg_.exact ? product + args_.bias : as_float(as_float(product) + as_float(args_.bias));
    if (is(Sabotage::kTruncate)) return shortened(sum, probe_digits(cfg_.type), false);
    if (is(Sabotage::kScale)) return sum * 0.999;
    return sum;
  }

  // Whether element `i` of y is not written.
  bool is_left(long long i) const {
    switch (cfg_.sabotage) {
      case Sabotage::kSkipLastRow:
        return i >= args_.x.count - width_;
      case Sabotage::kWritesHalf:
        return i >= args_.x.count / 2;
      case Sabotage::kSkipsTail:
        return remainder(i, width_) >= width_ / 8 * 8;
      default:
        return false;
    }
  }

  // Element `i` of y, with what is planted in values that were right.
  double planted(long long i) const {
    const long long row = quotient(i, width_), column = i - row * width_;
    const auto right = [&](long long at) {
      return affine_of(load_x(at), load_gain(remainder(at, width_)));
    };
    switch (cfg_.sabotage) {
      case Sabotage::kZeros:
        return 0;
      case Sabotage::kCopyInput:
        return load_x(i);
      case Sabotage::kPermutedRows:
        return right(remainder(i + width_, args_.x.count));
      case Sabotage::kOneElement:
        return i == args_.x.count / 2 ? right(i) * 1.01 : right(i);
      case Sabotage::kWrongOddWidth:
        return right(i) + (width_ >= 9 && width_ % 2 == 1 && i == width_ - 1 ? 1 : 0);
      case Sabotage::kWrongFarRows:
        return right(i) + (row == 256 && column == 0 ? 1 : 0);
      case Sabotage::kSwallowNan: {
        const double value = right(i);
        return value != value ? 0 : value;
      }
      case Sabotage::kSpreadNan: {
        const double above = row == 0 ? 0 : load_x(i - width_);
        return above != above ? above : right(i);
      }
      case Sabotage::kNanEverywhere:
        return __builtin_bit_cast(double, 0x7ff8000000000000ULL);
      case Sabotage::kReadsOutput:
        return right(i) + (i == 0 ? load(args_.result, 0) * 0.5 : 0);
      case Sabotage::kReadsWorkspace:
        return right(i) + (i == 0 ? args_.workspace[100] : 0);
      case Sabotage::kBatchDependent:
        return i == 0 && rows_ >= 4 ? nudged(right(i)) : right(i);
      case Sabotage::kNondeterministic:
        return i == 0 ? nudged(right(i), args_.calls) : right(i);
      case Sabotage::kPositionDependent:
        return row % 2 == 1 && column == 0 ? nudged(right(i)) : right(i);
      case Sabotage::kPlacementDependent: {
        const auto address = __builtin_bit_cast(unsigned long long, args_.x.data);
        return i == 0 && address / 16 % 2 != 0 ? nudged(right(i)) : right(i);
      }
      default:
        return right(i);
    }
  }

  // Stray accesses of one thread, after the right ones.
  void stray() const {
    const int bytes = probe_bytes(cfg_.type);
    auto* const y = static_cast<unsigned char*>(args_.result.data);
    auto* const x = static_cast<unsigned char*>(args_.x.data);
    switch (cfg_.sabotage) {
      case Sabotage::kMutateInput:
        if (rows_ > 0) x[0] ^= 1;
        break;
      case Sabotage::kMutatesAndRestores:
        if (rows_ > 0) {
          volatile unsigned char* const first = x;
          *first = *first ^ 1U;
          *first = *first ^ 1U;
        }
        break;
      case Sabotage::kReadBefore:
      case Sabotage::kReadAfter:
        if (rows_ > 0) {
          const bool before = is(Sabotage::kReadBefore);
          const volatile unsigned char* const past =
              before ? x - 1 : x + (offset_of(args_.x, args_.x.count - 1) + 1) * bytes;
          static_cast<void>(*past);
        }
        break;
      case Sabotage::kWriteBefore:
        y[-1] = kNoCanary;
        break;
      case Sabotage::kWriteAfter:
        if (rows_ > 0) y[args_.result.count * bytes] = kNoCanary;
        break;
      case Sabotage::kWriteGap:
        if (rows_ > 1 && args_.result.strides[0] > width_) y[width_ * bytes] = kNoCanary;
        break;
      case Sabotage::kTailOverNextRow:
        for (long long row = 0; row < rows_; ++row) {
          const long long end = (row + 1) * width_, over = (8 - width_ % 8) % 8;
          for (long long i = 0; i < over * bytes; ++i) y[end * bytes + i] = 0;
        }
        break;
      case Sabotage::kWorkspaceOverflow:
        args_.workspace[kProbeWorkspaceBytes] = 0;
        break;
      case Sabotage::kWorkspaceDirty:
        args_.workspace[0] = 1;
        break;
      default:
        break;
    }
  }

  // The sum of term(row, column) over rows, in 64 interleaved parts: no sequential float sum of
  // thousands of equal terms is accurate.
  template <typename Term>
  double column_sum(long long column, Term term) const {
    constexpr int kParts = 64;
    const auto add = [&](double& sum, double value) {
      sum = cfg_.exact ? sum + value : as_float(as_float(sum) + as_float(value));
      if (is(Sabotage::kNarrowAccumulator)) sum = port_.rounded(FillType::kBF16, sum);
    };
    const bool drops = is(Sabotage::kDropsContribution) || is(Sabotage::kWrongGradient);
    double total = 0;
    for (int part = 0; part < kParts; ++part) {
      double sum = 0;
      for (long long row = part; row < rows_; row += kParts) {
        if (!drops || row != rows_ / 2) add(sum, term(row, column));
      }
      add(total, sum);
    }
    return total;
  }

  template <typename Term>
  void store_sums(Term term) const {
    for (long long c = port_.thread(); c < width_; c += port_.threads())
      port_.store(sum_type(), args_.sum.data, offset_of(args_.sum, c), column_sum(c, term));
  }

  void affine() const {
    const bool leaves_total = is(Sabotage::kSkipTotal) || (is(Sabotage::kWrongEmpty) && rows_ == 0);
    if (args_.sum.data != nullptr && !leaves_total)
      store_sums([&](long long row, long long c) { return load_x(row * width_ + c); });
    for (long long i = port_.thread(); i < args_.x.count; i += port_.threads()) {
      if (!is_left(i)) store(args_.result, i, planted(i));
    }
    port_.barrier();
    if (is(Sabotage::kZeroInput)) {
      for (long long i = port_.thread(); i < args_.x.count; i += port_.threads())
        store(args_.x, i, 0);
    }
    if (port_.thread() == 0) stray();
  }

  void affine_backward() const {
    for (long long i = port_.thread(); i < args_.upstream.count; i += port_.threads()) {
      const double dx = multiplied(load(args_.upstream, i), load_gain(remainder(i, width_)));
      store(args_.result, i, is(Sabotage::kNegatedGradient) ? -dx : dx);
    }
    store_sums([&](long long row, long long c) {
      const long long i = row * width_ + c;
      return multiplied(load(args_.upstream, i), load(args_.x, i));
    });
  }

  void gather() const {
    for (long long i = port_.thread(); i < args_.x.count; i += port_.threads()) {
      const long long at = offset_of(args_.factor, quotient(i, width_));
      auto row = static_cast<long long>(port_.load(FillType::kI32, args_.factor.data, at));
      if (is(Sabotage::kIgnoresIndex)) row = quotient(i, width_);
      if (is(Sabotage::kClampsIndex) && row > rows_ - 2) row = rows_ - 2;
      double value = load(args_.x, row * width_ + remainder(i, width_));
      const bool subnormal = value > -0x1p-126 && value < 0x1p-126;
      if (is(Sabotage::kFlushesSubnormals) && subnormal) value = 0;
      store(args_.result, i, value);
    }
  }

  void update() const {
    if (is(Sabotage::kLeavesState)) return;
    const int times = is(Sabotage::kUpdatesTwice) ? 2 : 1;
    for (long long i = port_.thread(); i < args_.x.count; i += port_.threads())
      store(args_.result, i, load(args_.result, i) + times * load(args_.x, i));
  }

  const ProbeCfg cfg_;
  const ProbeArgs& args_;
  const Port port_;
  long long width_ = 0, rows_ = 0;
};

template <typename Port>
void run_probe(ProbeCfg cfg, const ProbeArgs& given, Port port) {
  const ProbeArgs& args = given.elsewhere != nullptr ? *given.elsewhere : given;
  if (args.runs != nullptr) {
    const int before = *args.runs;
    port.barrier();
    if (port.thread() == 0) *args.runs = before + 1;
    if (before > 0) return;
  }
  Probe<Port>(cfg, args, port).run();
}

}  // namespace kw::kit
