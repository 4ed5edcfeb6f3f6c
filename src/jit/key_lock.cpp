// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/key_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace kw::jit {
namespace {

// Offsets are positive 63-bit numbers; two keys that share one only wait for each other.
off_t offset_of(const Digest& key) {
  std::uint64_t bits = 0;
  for (int i = 0; i < 8; ++i) bits = bits << 8 | key[static_cast<std::size_t>(i)];
  return static_cast<off_t>(bits >> 2);
}

}  // namespace

KeyLock::KeyLock(const std::string& directory, const Digest& key,
                 std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  if (directory.empty()) return;
  descriptor_ = ::open((directory + "/locks").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return;
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = offset_of(key);
  range.l_len = 1;
  const Clock::time_point deadline = Clock::now() + patience;
  std::chrono::milliseconds pause{1};
  while (true) {
    held_ = ::fcntl(descriptor_, F_OFD_SETLK, &range) == 0;
    const bool busy = errno == EAGAIN || errno == EACCES;
    if (held_ || !busy || Clock::now() >= deadline) return;
    waited_ = true;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::milliseconds{50});
  }
}

KeyLock::~KeyLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace kw::jit
