// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/scratch.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace kw::suite {
namespace {

constexpr std::uint8_t kCanary = 0xc3;

}  // namespace

void Scratch::arm(const WorkspaceSize& size, std::uint8_t poison) {
  if (!memory_ || size.bytes > memory_.bytes() - 2 * kGuardBytes)
    memory_ = runtime::Buffer(device_, size.bytes + 2 * kGuardBytes);
  armed_ = size;
  device_.fill(memory_.data(), kCanary, kGuardBytes, nullptr);
  device_.fill(base(), 0, size.zeroed_bytes, nullptr);
  device_.fill(base() + size.zeroed_bytes, poison, size.bytes - size.zeroed_bytes, nullptr);
  device_.fill(base() + size.bytes, kCanary, kGuardBytes, nullptr);
}

void* Scratch::take(std::int64_t bytes, std::int64_t zeroed_bytes) noexcept {
  return bytes <= armed_.bytes && zeroed_bytes <= armed_.zeroed_bytes ? base() : nullptr;
}

std::vector<std::byte> Scratch::download(const std::byte* from, std::int64_t bytes) const {
  std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
  device_.copy(copy.data(), from, bytes, nullptr);
  device_.synchronize(nullptr);
  return copy;
}

std::optional<std::string> Scratch::overrun() const {
  if (armed_.bytes == 0) return std::nullopt;
  const auto damaged = [](std::byte b) { return b != std::byte{kCanary}; };
  const std::vector<std::byte> before = download(memory_.data(), kGuardBytes);
  if (std::any_of(before.begin(), before.end(), damaged)) return "bytes before the workspace";
  const std::vector<std::byte> after = download(base() + armed_.bytes, kGuardBytes);
  const auto at = std::find_if(after.begin(), after.end(), damaged);
  if (at == after.end()) return std::nullopt;
  return fmt::format("byte {} after the {} bytes of workspace", at - after.begin(), armed_.bytes);
}

std::optional<std::string> Scratch::unclean() const {
  if (armed_.zeroed_bytes == 0) return std::nullopt;
  const std::vector<std::byte> zeroed = download(base(), armed_.zeroed_bytes);
  const auto at =
      std::find_if(zeroed.begin(), zeroed.end(), [](std::byte b) { return b != std::byte{0}; });
  if (at == zeroed.end()) return std::nullopt;
  return fmt::format("byte {} of the {} that a launch must leave zero is not", at - zeroed.begin(),
                     armed_.zeroed_bytes);
}

}  // namespace kw::suite
