// SPDX-License-Identifier: Apache-2.0
// Private: keeps processes of one machine from compiling the same unit at once. An optimisation:
// the cache is right without it, and a lock that cannot be had in time is done without.
#pragma once

#include <chrono>
#include <string>

#include "kernelwright/base/sha256.hpp"

namespace kw::jit {

// Locks one byte, at an offset taken from `key`, of <directory>/locks with an open-file-description
// lock: one file for all keys, and the kernel drops the lock of a process that dies.
class KeyLock {
 public:
  // Waits at most `patience`. An empty directory, or one without locks, gives none.
  KeyLock(const std::string& directory, const Digest& key, std::chrono::milliseconds patience);
  ~KeyLock();
  KeyLock(const KeyLock&) = delete;
  KeyLock& operator=(const KeyLock&) = delete;

  bool held() const noexcept { return held_; }
  // Another process had it first, and may have published meanwhile.
  bool waited() const noexcept { return waited_; }

 private:
  int descriptor_ = -1;
  bool held_ = false, waited_ = false;
};

}  // namespace kw::jit
