// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/guarded_tensor.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/random.hpp"

namespace kw::suite {
namespace {

constexpr std::size_t kSparseBytes = std::size_t{64} << 20;  // extent of a tensor with gaps
constexpr std::size_t kWatchedBytes = std::size_t{64} << 10;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

StorageHash hash_bytes(const std::byte* data, std::size_t bytes) noexcept {
  StorageHash hash{0x243f6a8885a308d3ULL, 0x13198a2e03707344ULL};
  for (std::size_t at = 0; at < bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min<std::size_t>(8, bytes - at));
    hash[0] = (hash[0] ^ word) * 0x9fb21c651e98df25ULL;
    hash[0] ^= hash[0] >> 32;
    hash[1] = (hash[1] + word) * 0xd6e8feb86659fd93ULL;
    hash[1] ^= hash[1] >> 29;
  }
  return {mix64(hash[0] ^ bytes), mix64(hash[1])};
}

// Calls visit(byte offset, bytes) for runs of adjacent elements, in logical order.
template <typename Visit>
void GuardedTensor::each_run(Visit visit) const {
  const std::size_t element = dtype_bytes(spec_.dtype);
  if (spec_.numel() == 0) return;
  if (spec_.contiguous || spec_.rank == 0) {
    visit(base_, static_cast<std::size_t>(spec_.numel()) * element);
    return;
  }
  const auto last = static_cast<std::size_t>(spec_.rank) - 1;
  const bool dense_rows = view_.strides[last] == 1;
  TensorView rows = view_;
  if (dense_rows) rows.sizes[last] = 1;
  const std::int64_t count = rows.numel();
  ElementWalk walk(rows);
  const std::size_t bytes =
      dense_rows ? static_cast<std::size_t>(view_.sizes[last]) * element : element;
  for (std::int64_t i = 0; i < count; ++i, walk.advance()) {
    visit(base_ + static_cast<std::size_t>(walk.offset()) * element, bytes);
  }
}

GuardedTensor::GuardedTensor(runtime::Device& device, const TensorSpec& spec,
                             std::uint64_t canary_key, std::int64_t shift)
    : device_(&device), spec_(spec), key_(canary_key) {
  const TensorView shape = view_of(spec, nullptr);
  const auto range = shape.byte_range();
  const auto before =
      round_up(static_cast<std::size_t>(kGuardBytes - range.begin), runtime::kMemoryAlignment);
  // Below 16 the address has that power of two and no higher one.
  base_ = before + (spec.align < 16 ? static_cast<std::size_t>(spec.align) : 0) +
          static_cast<std::size_t>(shift);
  begin_ = base_ + static_cast<std::size_t>(range.begin);
  end_ = base_ + static_cast<std::size_t>(range.end);
  total_bytes_ = round_up(end_ + kGuardBytes, 8);
  memory_ = runtime::Buffer(device, static_cast<std::int64_t>(total_bytes_));
  on_host_ = device.hardware().kind == DeviceKind::kCpu;
  view_ = view_of(spec, memory_.data() + base_);

  const std::size_t covered = static_cast<std::size_t>(spec.numel()) * dtype_bytes(spec.dtype);
  if (covered != end_ - begin_) find_gaps();
  if (on_host_) make_image();
}

void GuardedTensor::find_gaps() {
  std::vector<Interval> runs;
  each_run([&](std::size_t at, std::size_t bytes) { runs.push_back({at, at + bytes}); });
  std::sort(runs.begin(), runs.end(),
            [](const Interval& a, const Interval& b) { return a.from < b.from; });
  sparse_ = end_ - begin_ > kSparseBytes;
  std::size_t at = begin_;
  for (const Interval& run : runs) {
    if (run.from > at) {
      if (sparse_ && run.from - at > 2 * kWatchedBytes) {
        gaps_.push_back({at, at + kWatchedBytes});
        at = run.from - kWatchedBytes;
      }
      gaps_.push_back({at, run.from});
    }
    at = std::max(at, run.to);
  }
}

StorageHash GuardedTensor::hash() const {
  if (!sparse_) return hash_bytes(image(), total_bytes_);
  StorageHash hash = hash_bytes(image(), begin_);
  const auto add = [&](std::size_t from, std::size_t to) {
    const StorageHash part = hash_bytes(image() + from, to - from);
    hash = {mix64(hash[0] ^ part[0]), mix64(hash[1] ^ part[1])};
  };
  each_run([&](std::size_t at, std::size_t bytes) { add(at, at + bytes); });
  for (const Interval& gap : gaps_) add(gap.from, gap.to);
  add(end_, total_bytes_);
  return hash;
}

void GuardedTensor::make_image() const {
  if (!on_host_) host_image_.resize(total_bytes_);
  std::byte* const bytes = on_host_ ? memory_.data() : host_image_.data();
  // Elements are written before anyone looks.
  paint(bytes, 0, begin_);
  for (const Interval& gap : gaps_) paint(bytes, gap.from, gap.to);
  paint(bytes, end_, total_bytes_);
}

TensorView GuardedTensor::host_view() const {
  TensorView view = view_;
  view.data = image() + base_;
  return view;
}

void GuardedTensor::paint(std::byte* bytes, std::size_t from, std::size_t to) const {
  for (std::size_t i = from; i < to; ++i) bytes[i] = canary(i);
}

std::byte GuardedTensor::canary(std::size_t offset) const noexcept {
  // One mix yields eight bytes; never a poison, so that writing one is noticed.
  const std::uint64_t word = mix64(key_ ^ (offset / 8));
  const auto byte = static_cast<std::uint8_t>(word >> (8 * (offset % 8)));
  const bool poison = byte == kNanPoison || byte == kFinitePoison;
  return std::byte{poison ? static_cast<std::uint8_t>(byte ^ 0x21U) : byte};
}

void GuardedTensor::poison(std::uint8_t byte) {
  each_run([&](std::size_t at, std::size_t bytes) { std::memset(image() + at, byte, bytes); });
}

void GuardedTensor::copy_elements(const GuardedTensor& source) {
  each_run([&](std::size_t at, std::size_t bytes) {
    std::memcpy(image() + at, source.image() + (at - base_ + source.base_), bytes);
  });
}

void GuardedTensor::copy_elements_to(std::byte* lowest) const {
  each_run([&](std::size_t at, std::size_t bytes) {
    std::memcpy(lowest + (at - begin_), image() + at, bytes);
  });
}

void GuardedTensor::upload(void* stream) {
  if (on_host_) return;
  device_->copy(memory_.data(), image(), static_cast<std::int64_t>(total_bytes_), stream);
  device_->synchronize(stream);
}

void GuardedTensor::download(void* stream) {
  if (on_host_) return;
  device_->copy(image(), memory_.data(), static_cast<std::int64_t>(total_bytes_), stream);
  device_->synchronize(stream);
}

void GuardedTensor::upload_guards(void* stream) {
  const auto put = [&](std::size_t from, std::size_t to) {
    std::vector<std::byte> guard(to - from);
    for (std::size_t i = from; i < to; ++i) guard[i - from] = canary(i);
    device_->copy(memory_.data() + from, guard.data(), static_cast<std::int64_t>(guard.size()),
                  stream);
    device_->synchronize(stream);
  };
  put(0, begin_);
  put(end_, total_bytes_);
}

std::optional<std::string> GuardedTensor::guard_damage(void* stream) const {
  const auto find = [&](std::size_t from, std::size_t to) -> std::optional<std::size_t> {
    std::vector<std::byte> guard(to - from);
    device_->copy(guard.data(), memory_.data() + from, static_cast<std::int64_t>(guard.size()),
                  stream);
    device_->synchronize(stream);
    for (std::size_t i = from; i < to; ++i) {
      if (guard[i - from] != canary(i)) return i;
    }
    return std::nullopt;
  };
  if (const auto at = find(0, begin_)) return before_text(*at);
  if (const auto at = find(end_, total_bytes_)) return after_text(*at);
  return std::nullopt;
}

void GuardedTensor::poison_on_device(std::uint8_t byte, void* stream) {
  device_->fill(memory_.data() + begin_, byte, static_cast<std::int64_t>(end_ - begin_), stream);
}

std::string GuardedTensor::before_text(std::size_t at) const {
  return fmt::format("{} bytes before the first element", begin_ - at);
}

std::string GuardedTensor::after_text(std::size_t at) const {
  return fmt::format("{} bytes after the last element", at - end_);
}

std::vector<std::byte> GuardedTensor::element_bytes() const {
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(spec_.numel()) * dtype_bytes(spec_.dtype));
  each_run([&](std::size_t at, std::size_t count) {
    bytes.insert(bytes.end(), image() + at, image() + at + count);
  });
  return bytes;
}

void GuardedTensor::set_element_bytes(std::span<const std::byte> bytes) {
  const auto wanted = static_cast<std::size_t>(spec_.numel()) * dtype_bytes(spec_.dtype);
  if (bytes.size() != wanted)
    fail(Code::kInvalidArgument, "{} bytes for a tensor of {}", bytes.size(), wanted);
  each_run([&](std::size_t at, std::size_t count) {
    std::memcpy(image() + at, bytes.data(), count);
    bytes = bytes.subspan(count);
  });
}

std::optional<std::string> GuardedTensor::damage() const {
  const auto find = [&](std::size_t from, std::size_t to) -> std::optional<std::size_t> {
    for (std::size_t i = from; i < to; ++i) {
      if (image()[i] != canary(i)) return i;
    }
    return std::nullopt;
  };
  if (const auto at = find(0, begin_)) return before_text(*at);
  if (const auto at = find(end_, total_bytes_)) return after_text(*at);
  for (const Interval& gap : gaps_) {
    if (const auto at = find(gap.from, gap.to))
      return fmt::format("a gap between elements, {} bytes after the first one", *at - begin_);
  }
  return std::nullopt;
}

}  // namespace kw::suite
