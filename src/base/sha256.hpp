// SPDX-License-Identifier: Apache-2.0
// SHA-256 of bytes: the identity of sources, binaries and toolchains; and a checksum of files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kw {

using Digest = std::array<std::uint8_t, 32>;

// 64 lower-case hexadecimal digits.
std::string hex(const Digest& digest);
std::optional<Digest> parse_digest(std::string_view text) noexcept;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& bytes(const void* data, std::size_t size);
  // A value with its length before it, so that no two sequences of fields read alike.
  Sha256& field(std::string_view text);
  Sha256& field(const Digest& digest);
  // Ends the computation; the object is not used afterwards.
  Digest finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);

// SHA-512/256, for integrity where no name depends on it: without SHA instructions 1.55 times as
// fast as SHA-256 (200 kB on a 2.5 GHz Xeon: 0.36 against 0.55 ms).
Digest checksum(std::span<const std::byte> bytes);

}  // namespace kw
