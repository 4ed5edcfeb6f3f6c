// SPDX-License-Identifier: Apache-2.0
// Scratch memory of launches, one block per stream: grown while preparing, looked up while
// launching.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernelwright/runtime/memory.hpp"

namespace kw::runtime {

// A block belongs to one owner, that which orders its uses: the stream, or on the CPU the thread.
//
//   | zeros, `zeroed` bytes | scratch |
//                  ^ find(bytes, zeroed_bytes) points `zeroed_bytes` before the boundary
//
// So calls with prefixes of different lengths share a block, and no call's scratch reaches
// another's zeros. Prefixes are multiples of kMemoryAlignment, which keeps every answer aligned.
//
// A block that was handed out stays: launches in flight and captured graphs hold its address.
// Growth makes a new block at least half as large again; the old ones, together at most twice the
// newest, live until trim(), release() or the pool's end.
class WorkspacePool {
 public:
  explicit WorkspacePool(Device& device);
  ~WorkspacePool();
  WorkspacePool(const WorkspacePool&) = delete;
  WorkspacePool& operator=(const WorkspacePool&) = delete;

  // Makes find() of this size succeed; the only function that allocates. Zeros are written in order
  // with `stream`. Throws Error(kConflict) when it would have to grow while `stream` is capturing,
  // Error(kEnvironment) when memory is short, Error(kInternal) for sizes that no implementation may
  // ask for.
  void reserve(const void* owner, void* stream, std::int64_t bytes, std::int64_t zeroed_bytes);

  // Null unless reserved. No lock, no allocation; 1.7 ns among 64 owners (2.5 GHz Xeon).
  void* find(const void* owner, std::int64_t bytes, std::int64_t zeroed_bytes) const noexcept {
    const Table& table = *table_.load(std::memory_order_acquire);
    for (std::size_t i = hash(owner);; ++i) {
      const Slot& slot = table.slots[i & table.mask];
      const Block* block = slot.block.load(std::memory_order_acquire);
      if (block == nullptr) return nullptr;
      if (slot.owner.load(std::memory_order_relaxed) != owner) continue;
      const bool fits = zeroed_bytes <= block->zeroed && bytes - zeroed_bytes <= block->scratch;
      return fits ? block->boundary - zeroed_bytes : nullptr;
    }
  }

  // Frees every block of `owner`, whose work has finished and whose graphs are gone.
  void release(const void* owner) noexcept;
  // Frees the blocks that growth replaced. The caller vouches that no graph and no call in flight
  // uses them.
  void trim() noexcept;

  std::int64_t reserved_bytes() const;

 private:
  struct Block {
    std::byte* boundary = nullptr;
    std::int64_t zeroed = 0, scratch = 0;
    const void* owner = nullptr;
    Buffer memory;
  };
  // A slot is free while `block` is null, and keeps its owner ever after; a released owner's block
  // is the empty one. `owner` is written before `block` is published.
  struct Slot {
    std::atomic<const void*> owner{nullptr};
    std::atomic<const Block*> block{nullptr};
  };
  struct Table {
    explicit Table(std::size_t capacity) : mask(capacity - 1), slots(new Slot[capacity]) {}
    std::size_t mask;
    std::unique_ptr<Slot[]> slots;
  };

  static std::size_t hash(const void* owner) noexcept {
    return static_cast<std::size_t>(
        (reinterpret_cast<std::uintptr_t>(owner) * std::uint64_t{0x9e3779b97f4a7c15}) >> 40);
  }
  // The slot that holds `owner`, or the free one where it belongs.
  static Slot& slot_of(const Table& table, const void* owner) noexcept;
  void publish(const void* owner, const Block* block);

  Device& device_;
  const Block empty_;
  std::atomic<Table*> table_;
  mutable std::mutex mutex_;  // guards all below and every write to tables
  std::size_t owners_ = 0;
  std::vector<std::unique_ptr<Table>> tables_;  // outgrown ones stay: a reader may be in them
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace kw::runtime
