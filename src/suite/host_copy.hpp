// SPDX-License-Identifier: Apache-2.0
// Copies of host memory by several threads, as fast as memory allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kw::suite {

// Which is the faster differs between machines.
enum class HostCopy : std::uint8_t { kPlain, kStreaming };
inline constexpr HostCopy kHostCopies[] = {HostCopy::kPlain, HostCopy::kStreaming};
std::string_view host_copy_name(HostCopy how) noexcept;  // "memcpy", "streaming stores"

// Addresses and `bytes` are multiples of 64. kStreaming is kPlain where there are no such stores.
void copy_on_host(HostCopy how, std::byte* to, const std::byte* from, std::int64_t bytes,
                  int threads) noexcept;

}  // namespace kw::suite
