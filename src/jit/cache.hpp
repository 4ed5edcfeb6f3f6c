// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk. Layers are read in order: packs, shared read-only directories, the
// user's own; only the last is written. Correct without locks: an entry is one self-checking file
// that appears whole under the name of its key, and whoever loses the race to publish it keeps its
// own copy.
//
//   <root>/v1/<2 hex>/<62 hex>        an entry under its K; in a pack, under its S
//   <root>/v1/index/<2 hex>/<62 hex>  which K an S has by which compiler
//   <root>/v1/failed/<entry>.<12 hex> source and log that a compiler refused
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/core/environment.hpp"
#include "kernelwright/jit/entry_file.hpp"

namespace kw::jit {

struct CacheOptions {
  std::vector<std::string> packs;
  std::vector<std::string> shared;
  std::string directory;  // "" keeps nothing
  bool read_only = false;
  // Accepts roots that other users own or may write to: whoever writes there runs code as this
  // process.
  bool trust_shared = false;
};
CacheOptions cache_options(const Environment& environment);

enum class Layer : int { kPack, kShared, kUser };
inline constexpr const char* kLayerNames[] = {"pack", "shared", "user"};

struct CacheCounters {
  std::int64_t hits[3] = {};  // by layer
  std::int64_t misses = 0;
  std::int64_t rejected = 0;   // files that were no valid entry
  std::int64_t published = 0;  // without those that another process had published meanwhile
  std::int64_t write_failures = 0;
};

struct FoundEntry {
  Entry entry;
  Layer layer = Layer::kUser;
  std::string path;
};

// One line of the S -> K index: `stamp` names a compiler by the inodes of its files, so that
// neither opening nor hashing it is needed to know K.
struct IndexLine {
  std::string stamp;
  Digest key{};
  std::vector<Dependency> dependencies;  // true of the K only while these are unchanged
};

struct CacheItem {
  std::string path;
  Layer layer = Layer::kUser;
  std::int64_t bytes = 0;
  EntryRecord record;
};

struct CacheProblem {
  std::string path, text;
};

struct CacheStats {
  struct Root {
    std::string path;
    Layer layer;
    std::int64_t entries = 0, bytes = 0;
    std::string problem;  // "" when the root is in use
  };
  std::vector<Root> roots;
  std::int64_t failed_sources = 0;
  CacheCounters counters;  // of this process
};

// Puts an entry into the pack at `directory`, which is made if it is missing: found under its S by
// every process that has it in KW_PACKS. Throws Error(kEnvironment) when it cannot be written.
void add_to_pack(const std::string& directory, const Entry& entry);

// Callable from any thread. What cannot be read is a miss and what cannot be written is dropped:
// both are logged once and counted, and neither is an error.
class Cache {
 public:
  explicit Cache(CacheOptions options);
  ~Cache();

  // Whether a valid entry is one that the caller can use.
  using Accept = std::function<bool(const FoundEntry&)>;
  // In the packs.
  std::optional<FoundEntry> find_by_source(const Digest& source, const Accept& accept = {});
  // In the other layers; the entry's S must be `source`.
  std::optional<FoundEntry> find(const Digest& key, const Digest& source,
                                 const Accept& accept = {});
  // Of the key's own entry. `file` is encode_entry's.
  void publish(const Digest& key, std::span<const std::byte> file);
  void count_miss() noexcept { ++misses_; }

  // Newest first.
  std::vector<IndexLine> index(const Digest& source) const;
  void remember(const Digest& source, IndexLine line);
  // The identity of the compiler with this stamp, once computed.
  std::optional<Digest> toolchain_identity(const std::string& stamp) const;
  void remember_toolchain(const std::string& stamp, const Digest& identity);

  // Writes source and log of a refused unit; the path, or "" when nowhere can be written.
  std::string keep_failed(const Unit& unit, const Digest& source, const std::string& log);

  // For the command line.
  std::vector<CacheItem> list() const;
  // Entries of any layer whose key, S or entry name begins with `prefix`.
  std::vector<CacheItem> show(const std::string& prefix) const;
  // Checks every entry of every layer.
  std::vector<CacheProblem> verify() const;
  CacheStats stats() const;
  // Why the user layer keeps nothing, with what to do; "" when it can be written. Tries nothing
  // out.
  std::string write_obstacle() const;
  // Removes what the user layer holds, failed sources and leftovers included; the number of
  // entries.
  std::int64_t clear();

  CacheCounters counters() const;
  const CacheOptions& options() const noexcept { return options_; }
  std::string lock_directory() const;

 private:
  struct Root {
    std::string path;
    Layer layer;
    std::string problem;
  };

  std::string problem_of(const Root& root) const;
  std::optional<FoundEntry> read_entry(const Root& root, const Digest& name, const Digest* key,
                                       const Digest& source, const Accept& accept);
  void write_failed(const std::string& why) noexcept;
  bool write_index(const Digest& name, const std::string& json);
  std::optional<std::string> read_index(const Digest& name) const;
  const Root* user() const noexcept;

  const CacheOptions options_;
  std::vector<Root> roots_;
  std::atomic<bool> writable_;
  std::array<std::atomic<std::int64_t>, 3> hits_{};
  std::atomic<std::int64_t> misses_{0}, rejected_{0}, published_{0}, write_failures_{0};
};

}  // namespace kw::jit
