// SPDX-License-Identifier: Apache-2.0
// Host memory between two pages that are not there.
#pragma once

#include <cstddef>
#include <utility>

namespace kw::suite {

class MappedPages {
 public:
  // `bytes`, zero, directly before the missing page behind them, or directly behind the one before.
  // Throws Error(kEnvironment).
  MappedPages(std::size_t bytes, bool at_end);
  MappedPages(MappedPages&& other) noexcept
      : all_(std::exchange(other.all_, nullptr)), data_(other.data_), total_(other.total_) {}
  MappedPages& operator=(MappedPages&&) = delete;
  ~MappedPages();

  std::byte* data() const noexcept { return data_; }
  // Whether the address is in the pages or the missing ones beside them.
  bool contains(const std::byte* at) const noexcept { return at >= all_ && at < all_ + total_; }
  void make_read_only() const;

 private:
  std::byte* all_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t total_ = 0;
};

std::size_t page_bytes();

// The least size, `bytes` or a little more, at which memory that ends at a multiple of 16 begins at
// an address with this residue of 16.
constexpr std::size_t guarded_bytes(std::size_t bytes, std::size_t residue) {
  return (bytes + residue + 15) / 16 * 16 - residue;
}

}  // namespace kw::suite
