// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/cache.hpp"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/jit/cache_paths.hpp"
#include "kernelwright/jit/files.hpp"

namespace kw::jit {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxIndexLines = 8;  // compilers that take turns on one machine
constexpr std::uint32_t kWritableByOthers = 022;

void warn(const std::string& text) { log(LogLevel::kWarning, "cache", text); }

// `path`, made if missing, when this user owns it and nobody else may write to it; else "".
std::string own_directory(const std::string& path) {
  if (!make_private_directory(path).empty()) return "";
  const auto facts = file_facts(path);
  const bool own = facts && facts->owner == ::geteuid() && (facts->mode & kWritableByOthers) == 0;
  return own ? path : "";
}

}  // namespace

CacheOptions cache_options(const Environment& environment) {
  CacheOptions options;
  options.packs = environment.packs;
  options.directory = environment.cache_dir;
  options.read_only = environment.cache_readonly;
  return options;
}

void add_to_pack(const std::string& directory, const Entry& entry) {
  const std::string path = entry_path(directory, entry.record.source_digest);
  const std::string why = publish_file(path, entry.file, Publish::kReplace);
  if (!why.empty()) fail(Code::kEnvironment, "cannot add {} to a pack: {}", path, why);
}

Cache::Cache(CacheOptions options) : options_(std::move(options)) {
  for (const std::string& path : options_.packs) roots_.push_back({path, Layer::kPack, ""});
  for (const std::string& path : options_.shared) roots_.push_back({path, Layer::kShared, ""});
  if (!options_.directory.empty()) roots_.push_back({options_.directory, Layer::kUser, ""});
  for (Root& root : roots_) {
    root.problem = problem_of(root);
    if (!root.problem.empty()) warn(root.problem);
  }
  writable_ = user() != nullptr && !options_.read_only;
}

Cache::~Cache() = default;

const Cache::Root* Cache::user() const noexcept {
  const bool there = !roots_.empty() && roots_.back().layer == Layer::kUser;
  return there && roots_.back().problem.empty() ? &roots_.back() : nullptr;
}

// Why a root is not used. Code from it runs in this process: its owner must be this user, or for
// what is only read root, and nobody else may write to it.
std::string Cache::problem_of(const Root& root) const {
  const auto facts = file_facts(root.path);
  if (!facts) {
    if (root.layer == Layer::kUser) return "";  // made by the first publication
    return fmt::format("{} {} does not exist", kLayerNames[static_cast<int>(root.layer)],
                       root.path);
  }
  if (!facts->directory) return root.path + " is not a directory";
  if (options_.trust_shared) return "";
  const bool ours =
      facts->owner == ::geteuid() || (root.layer != Layer::kUser && facts->owner == 0);
  if (!ours) {
    return fmt::format("{} belongs to user {}; not used: own it or trust it explicitly", root.path,
                       facts->owner);
  }
  if ((facts->mode & kWritableByOthers) != 0) {
    return fmt::format(
        "{} is writable by others (mode {:o}); not used: chmod go-w it, or trust it "
        "explicitly",
        root.path, facts->mode);
  }
  return "";
}

std::optional<FoundEntry> Cache::read_entry(const Root& root, const Digest& name, const Digest* key,
                                            const Digest& source, const Accept& accept) {
  const std::string path = entry_path(root.path, name);
  FileFacts facts;
  auto bytes = read_bytes(path, &facts);
  if (!bytes) return std::nullopt;
  std::string why;
  std::optional<Entry> entry;
  if (!options_.trust_shared && (facts.mode & kWritableByOthers) != 0) {
    why = "writable by others";
  } else {
    entry = decode_entry(std::move(*bytes), &why);
  }
  if (entry &&
      (entry->record.source_digest != source || (key != nullptr && entry->record.key != *key))) {
    entry.reset();
    why = "another kernel's";
  }
  if (!entry) {
    ++rejected_;
    // A bad file under the key would keep a good one from being published.
    const bool removed = root.layer == Layer::kUser && writable_ && remove_file(path);
    warn(fmt::format("{} is {}; {}", path, why, removed ? "removed" : "ignored"));
    return std::nullopt;
  }
  FoundEntry found{std::move(*entry), root.layer, path};
  if (accept && !accept(found)) return std::nullopt;
  ++hits_[static_cast<std::size_t>(root.layer)];
  return found;
}

std::optional<FoundEntry> Cache::find_by_source(const Digest& source, const Accept& accept) {
  for (const Root& root : roots_) {
    if (root.layer != Layer::kPack || !root.problem.empty()) continue;
    if (auto found = read_entry(root, source, nullptr, source, accept)) return found;
  }
  return std::nullopt;
}

std::optional<FoundEntry> Cache::find(const Digest& key, const Digest& source,
                                      const Accept& accept) {
  for (const Root& root : roots_) {
    if (root.layer == Layer::kPack || !root.problem.empty()) continue;
    if (auto found = read_entry(root, key, &key, source, accept)) return found;
  }
  return std::nullopt;
}

void Cache::publish(const Digest& key, std::span<const std::byte> file) {
  if (!writable_) return;
  bool was_there = false;
  const std::string why =
      publish_file(entry_path(user()->path, key), file, Publish::kKeepExisting, &was_there);
  if (!why.empty()) {
    write_failed(why);
  } else if (!was_there) {
    ++published_;
  }
}

void Cache::write_failed(const std::string& why) noexcept {
  ++write_failures_;
  if (!writable_.exchange(false)) return;
  warn(fmt::format(
      "kernels compiled from now on are not kept: {}; point KW_CACHE_DIR at a directory "
      "that can be written, or set KW_CACHE_READONLY=1",
      why));
}

bool Cache::write_index(const Digest& name, const std::string& json) {
  if (!writable_) return false;
  const std::string text = json + "\n" + hex(sha256(json));
  const std::string why =
      publish_file(index_path(user()->path, name), bytes_of(text), Publish::kReplaceUnsynced);
  if (!why.empty()) write_failed(why);
  return why.empty();
}

std::optional<std::string> Cache::read_index(const Digest& name) const {
  for (auto root = roots_.rbegin(); root != roots_.rend(); ++root) {  // the user's own is newest
    if (root->layer == Layer::kPack || !root->problem.empty()) continue;
    const auto text = read_text(index_path(root->path, name));
    if (!text) continue;
    const std::size_t end = text->rfind('\n');
    if (end == std::string::npos) continue;
    std::string json = text->substr(0, end);
    if (text->substr(end + 1) == hex(sha256(json))) return json;
  }
  return std::nullopt;
}

std::vector<IndexLine> Cache::index(const Digest& source) const {
  std::vector<IndexLine> lines;
  const auto text = read_index(source);
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  if (!json.is_array()) return lines;
  try {
    for (const Json& item : json) {
      IndexLine line{item.at(0).get<std::string>(), {}, {}};
      line.key = parse_digest(item.at(1).get<std::string>()).value();
      for (const Json& file : item.at(2)) {
        line.dependencies.push_back(
            {file.at(0).get<std::string>(), parse_digest(file.at(1).get<std::string>()).value()});
      }
      lines.push_back(std::move(line));
    }
  } catch (const std::exception&) {
    lines.clear();  // written by something else: as good as absent
  }
  return lines;
}

void Cache::remember(const Digest& source, IndexLine line) {
  if (!writable_) return;
  std::vector<IndexLine> lines = index(source);
  std::erase_if(
      lines, [&](const IndexLine& old) { return old.stamp == line.stamp && old.key == line.key; });
  lines.insert(lines.begin(), std::move(line));
  if (lines.size() > kMaxIndexLines) lines.resize(kMaxIndexLines);
  Json json = Json::array();
  for (const IndexLine& each : lines) {
    Json files = Json::array();
    for (const Dependency& file : each.dependencies) files.push_back({file.path, hex(file.digest)});
    json.push_back(Json::array({each.stamp, hex(each.key), std::move(files)}));
  }
  write_index(source, json.dump());
}

std::optional<Digest> Cache::toolchain_identity(const std::string& stamp) const {
  const auto text = read_index(toolchain_index_name(stamp));
  const Json json = text ? Json::parse(*text, nullptr, false) : Json();
  return json.is_string() ? parse_digest(json.get<std::string>()) : std::nullopt;
}

void Cache::remember_toolchain(const std::string& stamp, const Digest& identity) {
  write_index(toolchain_index_name(stamp), Json(hex(identity)).dump());
}

std::string Cache::keep_failed(const Unit& unit, const Digest& source, const std::string& log) {
  std::string text = unit.source + "\n/* log\n" + log + "\n*/\n";
  std::string root =
      writable_ ? user()->path : own_directory(fmt::format("/tmp/kernelwright-{}", ::geteuid()));
  if (root.empty()) return "";
  std::string path = failed_path(root, unit.entry, source);
  return publish_file(path, bytes_of(text), Publish::kReplaceUnsynced).empty() ? path : "";
}

CacheCounters Cache::counters() const {
  CacheCounters counters;
  for (std::size_t i = 0; i < hits_.size(); ++i) counters.hits[i] = hits_[i];
  counters.misses = misses_;
  counters.rejected = rejected_;
  counters.published = published_;
  counters.write_failures = write_failures_;
  return counters;
}

// Locks want a file system of this machine: NFS emulates them or has none.
std::string Cache::lock_directory() const {
  std::string local = own_directory(fmt::format("/dev/shm/kernelwright-{}", ::geteuid()));
  if (!local.empty()) return local;
  return writable_ ? version_path(user()->path) : "";
}

}  // namespace kw::jit
