// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/code_identity.hpp"

#include <link.h>

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "kernelwright/base/sha256.hpp"

namespace kw::suite {
namespace {

constexpr std::string_view kSourceFact = "source_digest";  // also "kernel_2.source_digest"

struct Search {
  std::uintptr_t address = 0;
  std::string build_id{};
};

constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 3) / 4 * 4; }

std::string build_id_in(const std::byte* note, std::size_t bytes) {
  const std::byte* const end = note + bytes;
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const std::byte* const name = note + sizeof header;
    const std::byte* const data = name + padded(header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = 0; i < header.n_descsz; ++i)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(data[i]));
      return text;
    }
    note = data + padded(header.n_descsz);
  }
  return {};
}

// Not 0 once the object with the address was found.
int look_into(dl_phdr_info* object, std::size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  bool holds = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    holds |= segment.p_type == PT_LOAD && search.address - begin < segment.p_memsz;
  }
  if (!holds) return 0;
  for (int i = 0; i < object->dlpi_phnum && search.build_id.empty(); ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    search.build_id = build_id_in(
        reinterpret_cast<const std::byte*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string build_id_of(const void* address) {
  Search search{reinterpret_cast<std::uintptr_t>(address)};
  dl_iterate_phdr(look_into, &search);
  return search.build_id;
}

std::string code_identity(const Implementation& implementation, const PlanFacts& facts) {
  Sha256 sources;
  bool compiled = false;
  for (const auto& [name, value] : facts) {
    if (name == "code" && value == "opaque") return {};
    if (!name.ends_with(kSourceFact)) continue;
    sources.field(value);
    compiled = true;
  }
  if (compiled) return "source:" + hex(sources.finish());
  const std::string id =
      build_id_of(reinterpret_cast<const void*>(implementation.functions.launch));
  return id.empty() ? "" : "build:" + id;
}

}  // namespace kw::suite
