// SPDX-License-Identifier: Apache-2.0
// The hot path's look at a call: its key, its dynamic scalars and the addresses of what it writes.
#include <algorithm>

#include "kernelwright/core/arguments.hpp"
#include "kernelwright/core/field_access.hpp"

namespace kw {
namespace {

// Appends to a key; remembers overflow instead of testing at every step.
class Packer {
 public:
  explicit Packer(Key& key) : key_(key) { key_.size = 0; }

  template <typename Value>
  void put(Value value) noexcept {
    if (key_.size + sizeof value > Key::kCapacity) {
      overflow_ = true;
      return;
    }
    std::memcpy(key_.bytes.data() + key_.size, &value, sizeof value);
    key_.size += sizeof value;
  }

  // dtype, rank with flags, alignment class, sizes, and strides unless contiguous. Values below 2^31
  // take 4 bytes, which keeps a dozen rank-4 tensors inside the key.
  void tensor(const TensorView& view) noexcept {
    if (!view.present()) {
      put(std::uint8_t{0xff});
      return;
    }
    const bool contiguous = view.contiguous();
    bool wide = false;
    for (int i = 0; i < view.rank; ++i) {
      const auto at = static_cast<std::size_t>(i);
      wide |= view.sizes[at] != static_cast<std::int32_t>(view.sizes[at]);
      wide |= !contiguous && view.strides[at] != static_cast<std::int32_t>(view.strides[at]);
    }
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    const unsigned align_class = address == 0 ? 7U : static_cast<unsigned>(__builtin_ctzll(address | 16U));
    put(static_cast<std::uint8_t>(view.dtype));
    put(static_cast<std::uint8_t>(static_cast<unsigned>(view.rank) | (contiguous ? 0x10U : 0U) | (wide ? 0x20U : 0U)));
    put(static_cast<std::uint8_t>(align_class));
    integers(view.sizes, view.rank, wide);
    if (!contiguous) integers(view.strides, view.rank, wide);
  }

  // A list whose tensors are alike (48 layers of router logits) takes the room of one.
  void list(const TensorList& list) noexcept {
    if (list.data == nullptr) {
      put(std::int32_t{-1});
      return;
    }
    put(static_cast<std::int32_t>(list.size));
    // Each run is its layout and the number of tensors that have it, so that the end shows.
    std::uint32_t run_begin = 0, run_size = 0;
    std::int32_t run_count = 0;
    for (std::int64_t i = 0; i < list.size && !overflow_; ++i) {
      const std::uint32_t begin = key_.size;
      tensor(list.data[i]);
      const std::uint32_t size = key_.size - begin;
      std::byte* bytes = key_.bytes.data();
      if (run_count > 0 && size == run_size && std::memcmp(bytes + run_begin, bytes + begin, size) == 0) {
        key_.size = begin;
        ++run_count;
        std::memcpy(bytes + run_begin + run_size, &run_count, sizeof run_count);
        continue;
      }
      run_begin = begin;
      run_size = size;
      run_count = 1;
      put(run_count);
    }
  }

  bool overflow() const noexcept { return overflow_; }

 private:
  void integers(const std::array<std::int64_t, kMaxRank>& values, int count, bool wide) noexcept {
    for (int i = 0; i < count; ++i) {
      const std::int64_t value = values[static_cast<std::size_t>(i)];
      if (wide) put(value);
      else put(static_cast<std::int32_t>(value));
    }
  }

  Key& key_;
  bool overflow_ = false;
};

// Address ranges of the tensors of one call, to find outputs that share memory. Ranges decide nearly
// every call; only where they meet is the exact test made.
class Footprint {
 public:
  void add(const TensorView& view, int row, bool written, int alias_of) noexcept {
    if (!view.present() || view.data == nullptr) return;
    if (count_ == kCapacity) {
      full_ = true;
      return;
    }
    const auto range = view.byte_range();
    const auto base = reinterpret_cast<std::intptr_t>(view.data);
    entries_[count_++] = {base + range.begin, base + range.end, &view, row, alias_of, written};
  }

  bool outputs_disjoint() const noexcept {
    if (full_) return false;  // check_call looks again, without this bound
    for (std::size_t i = 0; i < count_; ++i) {
      if (!entries_[i].written) continue;
      for (std::size_t j = 0; j < count_; ++j) {
        if (i == j || (entries_[j].written && j < i)) continue;
        if (collides(entries_[i], entries_[j])) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t kCapacity = 256;  // two lists of 48 layers and more
  struct Entry {
    std::intptr_t begin, end;
    const TensorView* view;
    int row, alias_of;
    bool written;
  };

  static bool collides(const Entry& a, const Entry& b) noexcept {
    if (a.end <= b.begin || b.end <= a.begin) return false;
    const bool declared = a.alias_of == b.row || b.alias_of == a.row;
    if (declared && is_same_tensor(*a.view, *b.view)) return false;
    return may_overlap(*a.view, *b.view);
  }

  std::array<Entry, kCapacity> entries_;
  std::size_t count_ = 0;
  bool full_ = false;
};

}  // namespace

std::uint64_t Key::hash() const noexcept {
  std::uint64_t h = 0xcbf29ce484222325ULL ^ size;  // FNV-1a by words: lookups only, never an identity
  for (std::uint32_t i = 0; i < size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, size - i));
    h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
  }
  return h;
}

CallCheck inspect_call(const Contract& contract, const void* args, int device_index, Key& key) noexcept {
  Packer packer(key);
  Footprint footprint;
  bool in_range = true;
  packer.put(static_cast<std::uint8_t>(device_index));
  int row = 0;
  for (const CallStep& step : contract.call_steps) {
    const bool written = step.role == Role::kOutput || step.role == Role::kMutated;
    if (step.kind == Kind::kTensor) {
      const auto& view = field_at<TensorView>(args, step.offset);
      packer.tensor(view);
      footprint.add(view, row, written, step.alias_of);
    } else if (step.kind == Kind::kTensorList) {
      const auto& list = field_at<TensorList>(args, step.offset);
      packer.list(list);
      for (std::int64_t i = 0; list.data != nullptr && i < list.size; ++i) footprint.add(list.data[i], row, written, step.alias_of);
    } else {
      const std::optional<double> value = scalar_at(args, step);
      // Of an optional dynamic scalar only the presence is part of the key.
      if (step.is_optional_field) packer.put(static_cast<std::uint8_t>(value.has_value() ? 1 : 0));
      if (value && step.value_in_key) packer.put(*value);
      if (value && !(*value >= step.low && *value <= step.high)) in_range = false;
    }
    ++row;
  }
  if (packer.overflow()) return CallCheck::kKeyTooLong;
  return in_range && footprint.outputs_disjoint() ? CallCheck::kOk : CallCheck::kUnsafe;
}

}  // namespace kw
