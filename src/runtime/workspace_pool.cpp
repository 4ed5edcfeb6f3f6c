// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/runtime/workspace_pool.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::runtime {
namespace {

constexpr std::size_t kFirstCapacity = 16;

void check_sizes(std::int64_t bytes, std::int64_t zeroed_bytes) {
  if (bytes < 0 || zeroed_bytes < 0 || zeroed_bytes > bytes) {
    fail(Code::kInternal,
         "workspace of {} bytes with the first {} zero: the prefix must lie within it; correct the "
         "implementation's workspace()",
         bytes, zeroed_bytes);
  }
  if (zeroed_bytes % kMemoryAlignment != 0) {
    fail(Code::kInternal,
         "workspace with the first {} bytes zero: the prefix must be a multiple of {} bytes; round "
         "it up in the implementation's workspace()",
         zeroed_bytes, kMemoryAlignment);
  }
}

// What a part of a new block gets, in whole alignment units.
std::int64_t grown(std::int64_t needed, std::int64_t old) {
  const std::int64_t size = std::max(needed, old == 0 ? 0 : old + old / 2);
  return (size + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}

}  // namespace

WorkspacePool::WorkspacePool(Device& device) : device_(device) {
  tables_.push_back(std::make_unique<Table>(kFirstCapacity));
  table_.store(tables_.back().get(), std::memory_order_release);
}

WorkspacePool::~WorkspacePool() = default;

WorkspacePool::Slot& WorkspacePool::slot_of(const Table& table, const void* owner) noexcept {
  for (std::size_t i = hash(owner);; ++i) {
    Slot& slot = table.slots[i & table.mask];
    if (slot.block.load(std::memory_order_relaxed) == nullptr ||
        slot.owner.load(std::memory_order_relaxed) == owner) {
      return slot;
    }
  }
}

void WorkspacePool::reserve(const void* owner, void* stream, std::int64_t bytes,
                            std::int64_t zeroed_bytes) {
  check_sizes(bytes, zeroed_bytes);
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  const Block* old = slot_of(*table_.load(std::memory_order_relaxed), owner).block;
  if (old == nullptr) old = &empty_;
  const std::int64_t scratch_bytes = bytes - zeroed_bytes;
  if (zeroed_bytes <= old->zeroed && scratch_bytes <= old->scratch) return;
  if (device_.is_capturing(stream)) {
    fail(
        Code::kConflict,
        "a workspace of {} bytes is needed on {} while its stream is capturing, and it cannot grow "
        "then; prepare the largest problem on this stream before the capture",
        bytes, device_.name());
  }

  auto block = std::make_unique<Block>();
  block->zeroed = grown(zeroed_bytes, old->zeroed);
  block->scratch = grown(scratch_bytes, old->scratch);
  block->owner = owner;
  block->memory = Buffer(device_, block->zeroed + block->scratch);
  block->boundary = block->memory.data() + block->zeroed;
  if (block->zeroed > 0) device_.fill(block->memory.data(), 0, block->zeroed, stream);
  blocks_.push_back(std::move(block));
  publish(owner, blocks_.back().get());
}

void WorkspacePool::publish(const void* owner, const Block* block) {
  Table* table = table_.load(std::memory_order_relaxed);
  Slot* slot = &slot_of(*table, owner);
  if (slot->block.load(std::memory_order_relaxed) == nullptr) {
    // At most half full, so that every probe ends at a free slot.
    if (2 * ++owners_ > table->mask + 1) {
      auto larger = std::make_unique<Table>(2 * (table->mask + 1));
      for (std::size_t i = 0; i <= table->mask; ++i) {
        const Slot& from = table->slots[i];
        if (from.block.load(std::memory_order_relaxed) == nullptr) continue;
        Slot& to = slot_of(*larger, from.owner.load(std::memory_order_relaxed));
        to.owner.store(from.owner.load(std::memory_order_relaxed), std::memory_order_relaxed);
        to.block.store(from.block.load(std::memory_order_relaxed), std::memory_order_relaxed);
      }
      table = larger.get();
      tables_.push_back(std::move(larger));
      slot = &slot_of(*table, owner);
    }
    slot->owner.store(owner, std::memory_order_relaxed);
  }
  slot->block.store(block, std::memory_order_release);
  table_.store(table, std::memory_order_release);
}

void WorkspacePool::release(const void* owner) noexcept {
  const std::lock_guard lock(mutex_);
  Slot& slot = slot_of(*table_.load(std::memory_order_relaxed), owner);
  if (slot.block.load(std::memory_order_relaxed) == nullptr) return;
  slot.block.store(&empty_, std::memory_order_release);
  std::erase_if(blocks_, [&](const auto& block) { return block->owner == owner; });
}

void WorkspacePool::trim() noexcept {
  const std::lock_guard lock(mutex_);
  const Table& table = *table_.load(std::memory_order_relaxed);
  std::erase_if(blocks_, [&](const auto& block) {
    return slot_of(table, block->owner).block.load(std::memory_order_relaxed) != block.get();
  });
}

std::int64_t WorkspacePool::reserved_bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const auto& block : blocks_) bytes += block->memory.bytes();
  return bytes;
}

}  // namespace kw::runtime
