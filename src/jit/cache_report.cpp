// SPDX-License-Identifier: Apache-2.0
// What the command line asks of the cache: everything here walks the directories.
#include <unistd.h>

#include <functional>

#include <fmt/format.h>

#include "kernelwright/jit/cache.hpp"
#include "kernelwright/jit/cache_paths.hpp"
#include "kernelwright/jit/files.hpp"

namespace kw::jit {
namespace {

constexpr std::string_view kTemporaryPrefix = ".tmp-";

bool is_shard(const std::string& name) {
  return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Files of <directory>/<2 hex>/, with the 64 digits of their name.
void for_each_file(
    const std::string& directory,
    const std::function<void(const std::string& path, const std::string& name)>& visit) {
  for (const std::string& shard : list_directory(directory)) {
    if (!is_shard(shard)) continue;
    for (const std::string& rest : list_directory(directory + "/" + shard)) {
      visit(directory + "/" + shard + "/" + rest, shard + rest);
    }
  }
}

bool is_temporary(const std::string& path) {
  return path.compare(path.rfind('/') + 1, kTemporaryPrefix.size(), kTemporaryPrefix) == 0;
}

}  // namespace

std::vector<CacheItem> Cache::list() const {
  std::vector<CacheItem> items;
  for (const Root& root : roots_) {
    if (!root.problem.empty()) continue;
    for_each_file(version_path(root.path), [&](const std::string& path, const std::string&) {
      auto bytes = is_temporary(path) ? std::nullopt : read_bytes(path);
      if (!bytes) return;
      const auto size = static_cast<std::int64_t>(bytes->size());
      if (auto entry = decode_entry(std::move(*bytes))) {
        items.push_back({path, root.layer, size, std::move(entry->record)});
      }
    });
  }
  return items;
}

std::vector<CacheItem> Cache::show(const std::string& prefix) const {
  std::vector<CacheItem> items = list();
  const auto begins = [&](const std::string& text) {
    return text.compare(0, prefix.size(), prefix) == 0;
  };
  std::erase_if(items, [&](const CacheItem& item) {
    return !begins(hex(item.record.key)) && !begins(hex(item.record.source_digest)) &&
           !begins(item.record.entry);
  });
  return items;
}

std::vector<CacheProblem> Cache::verify() const {
  std::vector<CacheProblem> problems;
  for (const Root& root : roots_) {
    if (!root.problem.empty()) {
      problems.push_back({root.path, root.problem});
      continue;
    }
    for_each_file(version_path(root.path), [&](const std::string& path, const std::string& name) {
      if (is_temporary(path)) {
        problems.push_back({path, "left behind by a process that ended while writing"});
        return;
      }
      std::string why = "not readable";
      auto bytes = read_bytes(path);
      const auto entry = bytes ? decode_entry(std::move(*bytes), &why) : std::nullopt;
      if (!entry) {
        problems.push_back({path, why});
        return;
      }
      const Digest& named =
          root.layer == Layer::kPack ? entry->record.source_digest : entry->record.key;
      if (hex(named) != name)
        problems.push_back({path, "another kernel's: it belongs to " + hex(named)});
    });
  }
  return problems;
}

CacheStats Cache::stats() const {
  CacheStats stats;
  for (const Root& root : roots_) {
    CacheStats::Root line{root.path, root.layer, 0, 0, root.problem};
    if (root.problem.empty()) {
      for_each_file(version_path(root.path), [&](const std::string& path, const std::string&) {
        const auto facts = file_facts(path);
        if (!facts || is_temporary(path)) return;
        ++line.entries;
        line.bytes += facts->size;
      });
      stats.failed_sources +=
          static_cast<std::int64_t>(list_directory(failed_directory(root.path)).size());
    }
    stats.roots.push_back(std::move(line));
  }
  stats.counters = counters();
  return stats;
}

std::string Cache::write_obstacle() const {
  const std::string& directory = options_.directory;
  if (directory.empty())
    return "there is no directory for kernels: HOME is not set; set KW_CACHE_DIR";
  if (options_.read_only) {
    return fmt::format("KW_CACHE_READONLY is set: {} is not written to; unset it", directory);
  }
  if (user() == nullptr) return roots_.back().problem;
  std::string existing = directory;
  while (!file_facts(existing) && existing.find('/') != std::string::npos) {
    existing.resize(existing.rfind('/'));
  }
  if (existing.empty()) existing = directory.front() == '/' ? "/" : ".";
  if (is_directory(existing) && ::access(existing.c_str(), W_OK | X_OK) == 0) return "";
  return fmt::format("{} cannot be written; set KW_CACHE_DIR to a directory that can", directory);
}

std::int64_t Cache::clear() {
  if (!writable_) return 0;
  std::int64_t removed = 0;
  const std::string top = version_path(user()->path);
  for_each_file(top, [&](const std::string& path, const std::string&) {
    if (remove_file(path) && !is_temporary(path)) ++removed;
  });
  for_each_file(top + "/index",
                [](const std::string& path, const std::string&) { remove_file(path); });
  const std::string failed = failed_directory(user()->path);
  for (const std::string& name : list_directory(failed)) remove_file(failed + "/" + name);
  return removed;
}

}  // namespace kw::jit
