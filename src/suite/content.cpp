// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/content.hpp"

#include <algorithm>
#include <numeric>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

// The first `count` places of a random order of [0, bound).
std::vector<double> distinct(std::int64_t bound, std::int64_t count, RandomStream& random) {
  std::vector<double> values(static_cast<std::size_t>(bound));
  std::iota(values.begin(), values.end(), 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto other =
        i + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound - i)));
    std::swap(values[static_cast<std::size_t>(i)], values[static_cast<std::size_t>(other)]);
  }
  values.resize(static_cast<std::size_t>(count));
  return values;
}

}  // namespace

const std::string& content_text(const Problem& problem, const Operand& operand) noexcept {
  return operand.spec.content.empty() ? problem.contract->parameters[operand.parameter].content
                                      : operand.spec.content;
}

Content content_of(const Problem& problem, const Operand& operand) {
  const std::string& text = content_text(problem, operand);
  const std::size_t open = text.find('<');
  const std::string kind = text.substr(0, open);
  const auto reject = [&](const std::string& why) {
    fail(Code::kUnsupported,
         "{}: '{}' has contents of class '{}': {}; the suite makes permutation, offsets<N>, "
         "slot<N>, expert_id<N>, label<N> and index<N>, with N a symbol of the contract",
         problem.label(), operand.name, text, why);
  };
  if (is_float(operand.spec.dtype)) reject("its elements are not integers");
  if (kind == "permutation") return {ContentClass::kPermutation, operand.spec.numel()};
  const bool known = kind == "offsets" || kind == "slot" || kind == "expert_id" ||
                     kind == "label" || kind == "index";
  if (!known) reject("no such class");
  if (open == std::string::npos || text.back() != '>') reject("it says no bound");
  const std::string symbol = text.substr(open + 1, text.size() - open - 2);
  const SymbolTable::Size* const bound = problem.symbols.size(symbol);
  if (bound == nullptr) reject("'" + symbol + "' is no symbol of this problem");
  Content content{kind == "offsets" ? ContentClass::kOffsets
                  : kind == "slot"  ? ContentClass::kSlot
                                    : ContentClass::kBounded,
                  bound->value};
  if (content.kind == ContentClass::kSlot && operand.spec.numel() > content.bound)
    reject(
        fmt::format("{} elements cannot all differ below {}", operand.spec.numel(), content.bound));
  if (content.bound < 1 && content.kind == ContentClass::kBounded && operand.spec.numel() > 0)
    reject("its bound is 0");
  return content;
}

void fill_content(const TensorView& view, const Content& content, const FillKey& key) {
  RandomStream random(mix64(key.seed ^ name_hash(key.name)));
  const std::int64_t count = view.numel();
  std::vector<double> values(static_cast<std::size_t>(count));
  const auto draw = [&](std::int64_t bound) {
    return static_cast<double>(random.below(static_cast<std::uint64_t>(bound)));
  };
  switch (content.kind) {
    case ContentClass::kPermutation:
    case ContentClass::kSlot:
      values = distinct(content.bound, count, random);
      break;
    case ContentClass::kOffsets:
      for (double& value : values) value = draw(content.bound + 1);
      std::sort(values.begin(), values.end());
      if (count > 0) values.front() = 0;
      if (count > 1) values.back() = static_cast<double>(content.bound);
      break;
    case ContentClass::kBounded:
      for (double& value : values) {
        value = key.fill == Fill::kZeros   ? 0
                : key.fill == Fill::kConst ? static_cast<double>(content.bound - 1)
                                           : draw(content.bound);
      }
      break;
  }
  write_elements(view, values);
}

}  // namespace kw::suite
