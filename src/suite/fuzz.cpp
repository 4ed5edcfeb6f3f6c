// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/fuzz.hpp"

#include <algorithm>
#include <cmath>

#include "kernelwright/base/error.hpp"
#include "kernelwright/suite/fill.hpp"

namespace kw::suite {
namespace {

// Elements of the largest tensor: cases take milliseconds, so that a minute sees thousands.
constexpr std::int64_t kMaxElements = 1 << 17;
constexpr int kMaxBatchRank = 3;

class Draw {
 public:
  Draw(const Contract& contract, int variant, RandomStream& random)
      : contract_(contract), random_(random) {
    problem_ = make_problem(contract, contract.variants[static_cast<std::size_t>(variant)].name);
  }

  std::optional<Problem> run() {
    draw_scalars();
    draw_sizes();
    draw_dtypes();
    for (std::size_t i = 0; i < problem_.values.size(); ++i)
      draw_tensor(contract_.parameters[i], problem_.values[i]);
    try {
      check(problem_);
    } catch (const Error&) {
      return std::nullopt;
    }
    return std::move(problem_);
  }

 private:
  // Small, odd, or a power of two and its neighbours: where kernels change their path.
  std::int64_t draw_size(std::int64_t low, std::int64_t high) {
    const std::int64_t top = std::clamp<std::int64_t>(high, low, low + kMaxElements);
    std::int64_t size = low;
    switch (random_.below(4)) {
      case 0:
        size = low + static_cast<std::int64_t>(random_.below(9));
        break;
      case 1:
        size = (std::int64_t{1} << random_.below(13)) +
               static_cast<std::int64_t>(random_.below(3)) - 1;
        break;
      case 2:
        size = static_cast<std::int64_t>(random_.below(200)) | 1;
        break;
      default:
        size = std::int64_t{1} << (random_.below(100) < 90 ? random_.below(13) : random_.below(18));
        break;
    }
    return std::clamp(size, low, top);
  }

  void draw_scalars() {
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = contract_.parameters[i];
      if (!p.is_scalar() || !p.in_variant(problem_.variant_name())) continue;
      ParameterValue& value = problem_.values[i];
      if (random_.one_in(2)) continue;  // the default
      value.scalar_given = true;
      value.number = draw_scalar(p);
    }
  }

  double draw_scalar(const Parameter& p) {
    if (p.kind == Kind::kBool) return static_cast<double>(random_.below(2));
    if (p.kind == Kind::kEnum) return static_cast<double>(random_.below(p.choices.size()));
    if (p.kind == Kind::kInt) {
      const double low = std::max(p.low, -1e6), high = std::min(p.high, 1e6);
      return static_cast<double>(
          draw_size(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
    }
    // Near the default by powers of ten, or a bound that is no infinity.
    if (random_.one_in(8) && std::isfinite(p.low)) return p.low;
    if (random_.one_in(8) && std::isfinite(p.high)) return p.high;
    static constexpr double kFactors[] = {1e-2, 1e-1, 0.5, 1, 2, 10};
    const double around = p.default_value != 0 ? p.default_value : 1;
    return std::clamp(around * kFactors[random_.below(6)], p.low, p.high);
  }

  void draw_sizes() {
    SymbolTable& symbols = problem_.symbols;
    symbols = {};
    for (std::size_t i = 0; i < problem_.values.size(); ++i) {
      const Parameter& p = contract_.parameters[i];
      if (p.kind != Kind::kInt) continue;
      symbols.bind_size(
          p.name,
          static_cast<std::int64_t>(problem_.values[i].scalar_given ? problem_.values[i].number
                                                                    : p.default_value),
          p.name);
    }
    for (const Symbol& symbol : contract_.symbols)
      symbols.bind_size(symbol.name, draw_size(symbol.low, symbol.high), symbol.name);

    // The batch uses what the widest tensor leaves of the budget.
    std::int64_t widest = 1;
    for (const Parameter& p : contract_.parameters) {
      if (!p.is_tensor() || !p.shape.batch) continue;
      std::int64_t width = 1;
      for (const Dim& dim : p.shape.dims)
        width *= std::max<std::int64_t>(evaluate(dim, symbols).value_or(1), 1);
      widest = std::max(widest, width);
    }
    std::int64_t budget = std::max<std::int64_t>(kMaxElements / widest, 1);
    symbols.batch_bound = true;
    for (std::uint64_t rank = random_.below(kMaxBatchRank + 1); rank > 0; --rank) {
      const std::int64_t size = random_.one_in(40) ? 0 : std::min(draw_size(1, budget), budget);
      symbols.batch.push_back(size);
      if (size > 0) budget /= size;
    }
  }

  // Symbols in the order in which rules can be read: "W: T|f32" after T.
  void draw_dtypes() {
    for (int pass = 0; pass < 2; ++pass) {
      for (const Parameter& p : contract_.parameters) {
        const DTypeRule& rule = p.dtype;
        if (!p.is_tensor() || rule.declares.empty() ||
            problem_.symbols.type(rule.declares) != nullptr)
          continue;
        const bool closed =
            std::all_of(rule.terms.begin(), rule.terms.end(),
                        [](const DTypeTerm& t) { return t.kind == DTypeTerm::Kind::kFixed; });
        if (pass == 0 && !closed) continue;
        problem_.symbols.bind_type(rule.declares, pick(admitted(rule, problem_.symbols)), p.name);
      }
    }
  }

  // f64 is the oracle's own dtype; where others are admitted it is not drawn.
  DType pick(std::vector<DType> dtypes) {
    if (dtypes.size() > 1)
      dtypes.erase(std::remove(dtypes.begin(), dtypes.end(), DType::kF64), dtypes.end());
    return dtypes.empty() ? DType::kF32 : dtypes[random_.below(dtypes.size())];
  }

  DType dtype_of(const DTypeRule& rule) {
    if (!rule.declares.empty()) {
      if (const auto* type = problem_.symbols.type(rule.declares)) return type->dtype;
    }
    return pick(admitted(rule, problem_.symbols));
  }

  void draw_tensor(const Parameter& p, ParameterValue& value) {
    if (!p.is_tensor() || !p.in_variant(problem_.variant_name())) return;
    if (p.is_optional && random_.one_in(2)) return;
    if (p.kind == Kind::kTensorList) {
      if (p.role == Role::kOutput) return;  // follows the input list
      value.list_present = true;
      value.list.resize(random_.below(5));
      for (TensorSpec& spec : value.list) spec = draw_spec(p);
      return;
    }
    value.tensor = draw_spec(p);
  }

  TensorSpec draw_spec(const Parameter& p) {
    TensorSpec spec;
    spec.present = true;
    spec.dtype = dtype_of(p.dtype);
    std::vector<std::int64_t> sizes;
    if (p.shape.batch) sizes = problem_.symbols.batch;
    for (const Dim& dim : p.shape.dims)
      sizes.push_back(evaluate(dim, problem_.symbols).value_or(1));
    spec.rank = static_cast<int>(std::min<std::size_t>(sizes.size(), kMaxRank));
    std::copy_n(sizes.begin(), spec.rank, spec.sizes.begin());
    if (random_.one_in(4))
      spec.align = static_cast<int>(dtype_bytes(spec.dtype) << random_.below(2));
    if (spec.align > 16) spec.align = 16;
    if (random_.one_in(3)) draw_strides(spec, p.role == Role::kInput);
    return spec;
  }

  // Padded pitches from the inside out; inputs may also repeat a leading dimension.
  void draw_strides(TensorSpec& spec, bool may_repeat) {
    if (spec.rank == 0) return;
    std::int64_t pitch = random_.one_in(6) ? 2 : 1;
    for (int d = spec.rank - 1; d >= 0; --d) {
      const auto at = static_cast<std::size_t>(d);
      const bool repeat = may_repeat && d < spec.rank - 1 && random_.one_in(6);
      spec.strides[at] = repeat ? 0 : pitch;
      if (!repeat)
        pitch = pitch * std::max<std::int64_t>(spec.sizes[at], 1) +
                static_cast<std::int64_t>(random_.one_in(2) ? random_.below(17) : 0);
    }
    spec.contiguous = false;
    spec.contiguous = view_of(spec, nullptr).contiguous();
    if (spec.contiguous) spec.strides = {};
  }

  const Contract& contract_;
  RandomStream& random_;
  Problem problem_;
};

}  // namespace

std::optional<Problem> ProblemFuzzer::draw(std::uint64_t seed) const {
  RandomStream random(mix64(seed));
  const std::size_t count = variants_.empty() ? contract_.variants.size() : variants_.size();
  const std::size_t choice = random.below(count);
  const int variant = variants_.empty() ? static_cast<int>(choice) : variants_[choice];
  return Draw(contract_, variant, random).run();
}

std::optional<Case> fuzz_case(const ProblemFuzzer& fuzzer, std::uint64_t seed) {
  std::optional<Problem> problem = fuzzer.draw(seed);
  if (!problem) return std::nullopt;
  RandomStream random(mix64(seed) + 1);
  const auto& fills = fill_catalogue();
  Fill fill = random.one_in(2) ? Fill::kNormal : fills[random.below(fills.size())];
  // Magnitudes at the ends of float32 are promised for default scalars only: an eps of 0 leaves
  // nothing of the square of a tiny number.
  const auto& values = problem->values;
  const bool scalars = std::any_of(values.begin(), values.end(),
                                   [](const ParameterValue& value) { return value.scalar_given; });
  if (scalars && (fill == Fill::kBig || fill == Fill::kTiny || fill == Fill::kMixedMag)) {
    fill = Fill::kUniform;
  }
  return Case{std::move(*problem), fill, seed};
}

}  // namespace kw::suite
