// SPDX-License-Identifier: Apache-2.0
// Values that are made once while anybody holds them. Includes only the standard library.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace kw::jit {

// Keeps weak references: the holders of a value decide how long it lives.
template <typename Key, typename Value>
class SingleFlight {
 public:
  using Pointer = std::shared_ptr<const Value>;
  struct Answer {
    Pointer value;
    bool made = false;  // by this very call
  };

  // The living value of `key`, or what `make` returns. Of callers at the same time one runs `make`
  // and the others wait; an exception of `make` reaches them all and is forgotten.
  template <typename Make>
  Answer get(const Key& key, const Make& make) {
    std::promise<Pointer> promise;
    {
      std::unique_lock lock(mutex_);
      Slot& slot = slots_[key];
      if (Pointer living = slot.value.lock()) return {living, false};
      if (slot.pending.valid()) {
        const std::shared_future<Pointer> pending = slot.pending;
        lock.unlock();
        return {pending.get(), false};
      }
      slot.pending = promise.get_future().share();
    }
    Pointer value;
    try {
      value = make();
    } catch (...) {
      settle(key, nullptr);
      promise.set_exception(std::current_exception());
      throw;
    }
    settle(key, value);
    promise.set_value(value);
    return {value, true};
  }

  // The values that live, of the keys that `wanted` accepts.
  template <typename Wanted>
  std::vector<Pointer> living(const Wanted& wanted) const {
    std::vector<Pointer> values;
    const std::lock_guard lock(mutex_);
    for (const auto& [key, slot] : slots_) {
      if (!wanted(key)) continue;
      if (Pointer value = slot.value.lock()) values.push_back(std::move(value));
    }
    return values;
  }

 private:
  struct Slot {
    std::weak_ptr<const Value> value;
    std::shared_future<Pointer> pending;
  };

  void settle(const Key& key, const Pointer& value) {
    const std::lock_guard lock(mutex_);
    if (!value) {
      slots_.erase(key);
      return;
    }
    Slot& slot = slots_[key];
    slot.value = value;
    slot.pending = {};
  }

  mutable std::mutex mutex_;
  std::map<Key, Slot> slots_;
};

}  // namespace kw::jit
