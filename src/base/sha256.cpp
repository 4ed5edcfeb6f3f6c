// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/sha256.hpp"

#include <openssl/evp.h>

#include "kernelwright/base/error.hpp"

namespace kw {
namespace {

void require(int result) {
  if (result != 1) fail_text(Code::kEnvironment, "libcrypto refuses to compute a SHA-256");
}

int nibble(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  &EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  require(state_->context == nullptr
              ? 0
              : EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr));
}

Sha256::~Sha256() = default;

Sha256& Sha256::bytes(const void* data, std::size_t size) {
  require(EVP_DigestUpdate(state_->context.get(), data, size));
  return *this;
}

Sha256& Sha256::field(std::string_view text) {
  std::array<std::uint8_t, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  }
  bytes(length.data(), length.size());
  return bytes(text.data(), text.size());
}

Sha256& Sha256::field(const Digest& digest) {
  return field({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Digest Sha256::finish() {
  Digest digest{};
  require(EVP_DigestFinal_ex(state_->context.get(), digest.data(), nullptr));
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  return Sha256().bytes(bytes.data(), bytes.size()).finish();
}

Digest sha256(std::string_view text) { return Sha256().bytes(text.data(), text.size()).finish(); }

Digest checksum(std::span<const std::byte> bytes) {
  Digest digest{};
  unsigned size = 0;
  require(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha512_256(), nullptr));
  return digest;
}

std::string hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::optional<Digest> parse_digest(std::string_view text) noexcept {
  Digest digest{};
  if (text.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

}  // namespace kw
