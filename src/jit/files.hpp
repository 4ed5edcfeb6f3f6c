// SPDX-License-Identifier: Apache-2.0
// Private: files as the cache needs them. Whole contents, atomic publication, identity of a file by
// its inode. Failures are values: a cache that fails must not fail its caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kw::jit {

struct FileFacts {
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;  // permission bits
  bool directory = false;
  std::int64_t size = 0;
};

std::optional<FileFacts> file_facts(const std::string& path);
bool is_directory(const std::string& path);
// Device, inode, size and times of modification and change: equal while nobody wrote to the file.
// "" when it does not exist.
std::string file_stamp(const std::string& path);
// The path with links resolved, "" when it does not exist.
std::string resolved_path(const std::string& path);

// Nothing when the file cannot be read as a whole.
std::optional<std::vector<std::byte>> read_bytes(const std::string& path,
                                                 FileFacts* facts = nullptr);
std::optional<std::string> read_text(const std::string& path);

// Makes `path` and what is missing above it, each with mode 0700. "" or the reason of a failure.
std::string make_private_directory(const std::string& path);

// kReplace outlives a crash of the machine. Of the others a crash may take the name, and of
// kReplaceUnsynced also the contents: for what is checked when it is read and can be made again.
// A sync takes 4 to 20 ms on the disks of virtual machines, a sixth of a kernel's compilation.
enum class Publish { kKeepExisting, kReplace, kReplaceUnsynced };
// Writes a private temporary beside `path` and gives it the name: readers see nothing or all. An
// existing file of that name is kept or replaced. "" or the reason of a failure; `*kept` is set
// when an existing file stayed.
std::string publish_file(const std::string& path, std::span<const std::byte> bytes, Publish rule,
                         bool* kept = nullptr);

// Regular files and directories in `path`, sorted by name; empty when it cannot be read.
std::vector<std::string> list_directory(const std::string& path);
bool remove_file(const std::string& path);

std::span<const std::byte> bytes_of(std::string_view text);

}  // namespace kw::jit
