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

  // dtype, rank with flags, alignment class, sizes, and strides unless contiguous. Values below
  // 2^31 take 4 bytes, which keeps a dozen rank-4 tensors inside the key. Returns the bytes that
  // the tensor occupies, relative to its address.
  TensorView::ByteRange tensor(const TensorView& view) noexcept {
    if (!view.present()) {
      put(std::uint8_t{0xff});
      return {};
    }
    bool contiguous = true;
    std::uint64_t high = 0;  // bits of sizes and strides beyond 31
    std::int64_t count = 1;
    for (int i = view.rank - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      contiguous &= view.sizes[at] == 1 || view.strides[at] == count;
      high |= beyond_32(view.sizes[at]);
      (void)__builtin_mul_overflow(count, view.sizes[at], &count);
    }
    contiguous |= count == 0;
    for (int i = 0; !contiguous && i < view.rank; ++i)
      high |= beyond_32(view.strides[static_cast<std::size_t>(i)]);
    const auto address = reinterpret_cast<std::uintptr_t>(view.data);
    const unsigned align_class =
        address == 0 ? 7U : static_cast<unsigned>(__builtin_ctzll(address | 16U));

    const std::uint32_t integer = high != 0 ? 8 : 4;
    const std::uint32_t size =
        3 + static_cast<std::uint32_t>(view.rank) * integer * (contiguous ? 1 : 2);
    if (key_.size + size > Key::kCapacity) {
      overflow_ = true;
      return {};
    }
    std::byte* to = key_.bytes.data() + key_.size;
    key_.size += size;
    to[0] = static_cast<std::byte>(view.dtype);
    to[1] = static_cast<std::byte>(static_cast<unsigned>(view.rank) | (contiguous ? 0x10U : 0U) |
                                   (high != 0 ? 0x20U : 0U));
    to[2] = static_cast<std::byte>(align_class);
    to = high != 0 ? write<std::int64_t>(to + 3, view.sizes, view.rank)
                   : write<std::int32_t>(to + 3, view.sizes, view.rank);
    if (contiguous)
      return {0, static_cast<std::int64_t>(static_cast<std::uint64_t>(count) *
                                           dtype_bytes(view.dtype))};
    high != 0 ? write<std::int64_t>(to, view.strides, view.rank)
              : write<std::int32_t>(to, view.strides, view.rank);
    return view.byte_range();
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
      if (run_count > 0 && size == run_size &&
          std::memcmp(bytes + run_begin, bytes + begin, size) == 0) {
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
  static std::uint64_t beyond_32(std::int64_t value) noexcept {
    return (static_cast<std::uint64_t>(value) + 0x80000000U) >> 32;
  }
  template <typename Integer>
  static std::byte* write(std::byte* to, const std::array<std::int64_t, kMaxRank>& values,
                          int count) noexcept {
    for (int i = 0; i < count; ++i, to += sizeof(Integer)) {
      const auto value = static_cast<Integer>(values[static_cast<std::size_t>(i)]);
      std::memcpy(to, &value, sizeof value);
    }
    return to;
  }

  Key& key_;
  bool overflow_ = false;
};

// Address ranges of the tensors of one call, to find outputs that share memory. Ranges decide
// nearly every call; only where they meet is the exact test made.
class Footprint {
 public:
  void add(const TensorView& view, TensorView::ByteRange range, int row, bool written,
           int alias_of) noexcept {
    if (!view.present() || view.data == nullptr || range.begin == range.end) return;
    if (count_ == kCapacity) {
      full_ = true;
      return;
    }
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
  std::uint64_t h =
      0xcbf29ce484222325ULL ^ size;  // FNV-1a by words: lookups only, never an identity
  for (std::uint32_t i = 0; i < size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, size - i));
    h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 32;
  }
  return h;
}

CallCheck inspect_call(const Contract& contract, const void* args, int device_index,
                       Key& key) noexcept {
  Packer packer(key);
  Footprint footprint;
  bool in_range = true;
  packer.put(static_cast<std::uint8_t>(device_index));
  int row = 0;
  for (const CallStep& step : contract.call_steps) {
    const bool written = step.role == Role::kOutput || step.role == Role::kMutated;
    if (step.kind == Kind::kTensor) {
      const auto& view = field_at<TensorView>(args, step.offset);
      footprint.add(view, packer.tensor(view), row, written, step.alias_of);
    } else if (step.kind == Kind::kTensorList) {
      const auto& list = field_at<TensorList>(args, step.offset);
      packer.list(list);
      for (std::int64_t i = 0; list.data != nullptr && i < list.size; ++i)
        footprint.add(list.data[i], list.data[i].byte_range(), row, written, step.alias_of);
    } else {
      double value = 0;
      const bool given = read_scalar(args, step, value);
      // Of an optional dynamic scalar only the presence is part of the key.
      if (step.is_optional_field) packer.put(static_cast<std::uint8_t>(given ? 1 : 0));
      if (given && step.value_in_key) packer.put(value);
      if (given && !(value >= step.low && value <= step.high)) in_range = false;
    }
    ++row;
  }
  if (packer.overflow()) return CallCheck::kKeyTooLong;
  return in_range && footprint.outputs_disjoint() ? CallCheck::kOk : CallCheck::kUnsafe;
}

}  // namespace kw
