// SPDX-License-Identifier: Apache-2.0
// One compiled kernel as one file that proves itself: metadata, binary and a checksum over both, so
// that no reader ever sees one without the other, or half of either.
//
//   0   "KWENTRY\n"
//   8   u32 format (1), u32 zero
//   16  u64 bytes of metadata, u64 bytes of image    (little-endian)
//   32  metadata: JSON, spaces after it until the image is aligned to 64
//   ..  image
//   end 32 bytes SHA-512/256 of everything before
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/jit/toolchain.hpp"

namespace kw::jit {

struct EntryRecord {
  Digest key{};            // K
  Digest source_digest{};  // S
  std::string kernel, entry, arch, cfg;
  std::string toolchain;  // "nvrtc 13.0"
  std::vector<std::string> flags;
  std::string source, log;
  CompileFacts facts;
  runtime::LaunchShape shape;
  std::vector<Dependency> dependencies;
  double compile_ms = 0;
  std::int64_t created = 0;  // seconds since 1970
};

// Kernel, geometry, digests, compiler and what that said; name -> value, for people and reports.
PlanFacts facts_of(const EntryRecord& record, const runtime::LaunchShape& shape);

struct Entry {
  EntryRecord record;
  std::vector<std::byte> file;       // as encoded
  std::span<const std::byte> image;  // within `file`

  Entry() = default;
  Entry(Entry&&) = default;  // moving a vector keeps its bytes in place
  Entry& operator=(Entry&&) = default;
};

std::vector<std::byte> encode_entry(const EntryRecord& record, std::span<const std::byte> image);

// Nothing when the bytes are not a whole, unaltered entry; `why` says so in words.
std::optional<Entry> decode_entry(std::vector<std::byte> file, std::string* why = nullptr);

}  // namespace kw::jit
