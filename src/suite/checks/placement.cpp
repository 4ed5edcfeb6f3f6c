// SPDX-License-Identifier: Apache-2.0
// Whether bits depend on where tensors lie in memory, or rows among rows.
#include <fmt/core.h>

#include "kernelwright/suite/checks/class_checks.hpp"
#include "kernelwright/suite/element.hpp"

namespace kw::suite {
namespace {

// Moves the slices of an operand along its first dimension: row r of `to` is row `from(r)`.
template <typename From>
std::vector<double> rearranged(const std::vector<double>& values, std::size_t rows, From from) {
  std::vector<double> moved(values.size());
  const std::size_t width = rows == 0 ? 0 : values.size() / rows;
  for (std::size_t r = 0; r < rows; ++r) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(from(r) * width);
    std::copy(first, first + static_cast<std::ptrdiff_t>(width),
              moved.begin() + static_cast<std::ptrdiff_t>(r * width));
  }
  return moved;
}

std::span<const std::byte> slice(const std::vector<std::byte>& bytes, std::size_t rows,
                                 std::size_t r) {
  return std::span(bytes).subspan(bytes.size() / rows * r, bytes.size() / rows);
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

// Other addresses of the same alignment class.
void ClassChecks::placement() {
  if (!options_.deterministic) return;
  for (const std::int64_t shift : {16, 32, 48}) {
    CallSet moved(device_, fresh_case(0), platform_.catalog, shift);
    moved.produce(nullptr);
    throw_if_failed(callable_.call_on(moved.arguments(), nullptr));
    device_.synchronize(nullptr);
    if (moved.current() == expected(0)) continue;
    return reject("placement", Reason::kPlacementVariant,
                  fmt::format("other bits when tensors lie {} bytes further in memory", shift));
  }
  pass("placement");
}

// A row is the same among other neighbours and at another place.
void ClassChecks::rows() {
  const auto& batch = problem_.symbols.batch;
  const auto count = batch.empty() ? 0 : static_cast<std::size_t>(batch.front());
  if (!options_.deterministic || !options_.batch_invariant || count < 2) return;
  const auto in_batch = [&](const Operand& operand) {
    return problem_.contract->parameters[operand.parameter].shape.batch;
  };
  const std::vector<std::vector<double>> inputs = read_inputs(set(0).source()),
                                         others = read_inputs(set(1).source());
  const auto run = [&](const auto& values_of) {
    CallSet calls(device_, fresh_case(0), platform_.catalog);
    PlacedTensors& source = calls.source();
    for (std::size_t i = 0; i < source.operands().size(); ++i) {
      const Operand& operand = source.operands()[i];
      if (operand.is_read() && in_batch(operand))
        write_elements(source[i].host_view(), values_of(i));
    }
    calls.upload_inputs();
    calls.produce(nullptr);
    throw_if_failed(callable_.call_on(calls.arguments(), nullptr));
    device_.synchronize(nullptr);
    return calls.current();
  };
  const auto agree = [&](const Outputs& outputs, const auto& row_of, std::size_t except) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Operand& operand = set(0).source().operands()[i];
      if (!operand.is_written() || !in_batch(operand) || outputs[i].empty()) continue;
      for (std::size_t r = 0; r < count; ++r) {
        if (r != except &&
            !equal(slice(outputs[i], count, r), slice(expected(0)[i], count, row_of(r))))
          return false;
      }
    }
    return true;
  };
  const auto reversed = [&](std::size_t r) { return count - 1 - r; };
  const Outputs backwards =
      run([&](std::size_t i) { return rearranged(inputs[i], count, reversed); });
  if (!agree(backwards, reversed, count)) {
    return reject("rows", Reason::kMetamorphic,
                  "rows in reverse order give other bits than the same rows in order");
  }
  // Strides of 0 make rows one: to change it is to change all.
  for (const Operand& operand : set(0).source().operands()) {
    if (operand.is_read() && in_batch(operand) && self_overlaps(view_of(operand.spec, nullptr)))
      return pass("rows");
  }
  const std::size_t changed = count / 2;
  const Outputs beside = run([&](std::size_t i) {
    std::vector<double> values = inputs[i];
    const std::size_t width = values.size() / count;
    const auto first = static_cast<std::ptrdiff_t>(changed * width);
    std::copy_n(others[i].begin() + first, width, values.begin() + first);
    return values;
  });
  const auto same = [](std::size_t r) { return r; };
  if (!agree(beside, same, changed)) {
    return reject("rows", Reason::kMetamorphic,
                  fmt::format("a change of row {} changes others", changed));
  }
  pass("rows");
}

}  // namespace kw::suite
