// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ctime>
#include <thread>

#include <fmt/format.h>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/base/ranges.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/errors.hpp"
#include "kernelwright/jit/files.hpp"
#include "kernelwright/jit/key_lock.hpp"
#include "kernelwright/jit/plan.hpp"

namespace kw::jit {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::unique_ptr<HeaderBundle> tree_of(const std::string& root) {
  if (root.empty()) return nullptr;
  auto tree = HeaderBundle::of_source_tree(root);
  log(LogLevel::kWarning, "jit",
      fmt::format("KW_SOURCE_ROOT: kernel headers come from {}/src, not from the library", root));
  return tree;
}

bool unchanged(const std::vector<Dependency>& files) {
  return std::all_of(files.begin(), files.end(), [](const Dependency& file) {
    const auto bytes = read_bytes(file.path);
    return bytes && sha256(*bytes) == file.digest;
  });
}

// Of what the compiler read beside unit and bundle; by content, for paths are not the same
// everywhere.
Digest digest_of(const std::vector<Dependency>& files) {
  if (files.empty()) return {};
  Sha256 sha;
  for (const Dependency& file : files) sha.field(file.digest);
  return sha.finish();
}

Origin origin_of(Layer layer) { return static_cast<Origin>(layer); }

}  // namespace

SessionOptions session_options(const Environment& environment) {
  SessionOptions options;
  options.cache = cache_options(environment);
  options.flags = environment.jit_flags;
  options.source_root = environment.source_root;
  return options;
}

Session::Session(SessionOptions options)
    : options_(std::move(options)),
      tree_(tree_of(options_.source_root)),
      headers_(tree_              ? *tree_
               : options_.headers ? *options_.headers
                                  : HeaderBundle::embedded()),
      cache_(options_.cache) {}

Session& Session::process() {
  static Session session(session_options(environment()));
  return session;
}

Session::Identified Session::identify(const Toolchain& toolchain, const Unit& unit) const {
  Identified what{toolchain.settings(unit.arch), headers_.reachable(unit.source), {}};
  what.settings.flags.insert(what.settings.flags.end(), options_.flags.begin(),
                             options_.flags.end());
  what.source = jit::source_digest(unit, what.settings, what.headers.digest);
  return what;
}

Digest Session::source_digest(const Toolchain& toolchain, const Unit& unit) const {
  return identify(toolchain, unit).source;
}

std::shared_ptr<const Plan> Session::prepare(Toolchain& toolchain, const Unit& unit,
                                             runtime::Device& device) {
  const Identified what = identify(toolchain, unit);
  const auto answer = plans_.get({&device, what.source}, [&] {
    const Binaries::Answer binary = obtain(toolchain, unit, what);
    const Origin origin = binary.made ? binary.value->origin : Origin::kMemory;
    return std::make_shared<const Plan>(unit, binary.value, origin, device);
  });
  if (!answer.made) ++memory_hits_;
  return answer.value;
}

std::vector<std::shared_ptr<const Plan>> Session::plans_on(const runtime::Device& device) const {
  return plans_.living([&](const auto& key) { return key.first == &device; });
}

std::shared_ptr<const CompiledUnit> Session::compile(Toolchain& toolchain, const Unit& unit) {
  return obtain(toolchain, unit, identify(toolchain, unit)).value;
}

Session::Binaries::Answer Session::obtain(Toolchain& toolchain, const Unit& unit,
                                          const Identified& what) {
  Binaries::Answer answer = binaries_.get(what.source, [&] {
    return std::make_shared<const CompiledUnit>(find_or_compile(toolchain, unit, what));
  });
  if (!answer.made) ++memory_hits_;
  return answer;
}

std::vector<PrepareOutcome> Session::prepare_all(Toolchain& toolchain, std::span<const Unit> units,
                                                 runtime::Device& device, int threads) {
  std::vector<PrepareOutcome> outcomes(units.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < units.size(); i = next++) {
      try {
        outcomes[i].plan = prepare(toolchain, units[i], device);
      } catch (...) {
        outcomes[i].error = std::current_exception();
      }
    }
  };
  std::vector<std::jthread> workers;
  const auto count =
      std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 1)), units.size());
  for (std::size_t i = 1; i < count; ++i) workers.emplace_back(work);
  work();
  workers.clear();
  return outcomes;
}

// By the index alone. Without a compiler any K of this S will do: nothing could make another.
std::optional<FoundEntry> Session::find(const Digest& source, const std::string& stamp,
                                        const Cache::Accept& accept) {
  for (const IndexLine& line : cache_.index(source)) {
    if (!stamp.empty() && line.stamp != stamp) continue;
    if (!unchanged(line.dependencies)) continue;
    if (auto found = cache_.find(line.key, source, accept)) return found;
  }
  return std::nullopt;
}

// Hashing a compiler takes a third of a second: once per process and, with a cache, per machine.
Digest Session::identity_of(Toolchain& toolchain, const std::string& stamp) {
  const std::string name = toolchain.kind() + " " + stamp;
  const std::lock_guard lock(identity_mutex_);
  const auto known = identities_.find(name);
  if (known != identities_.end()) return known->second;
  std::optional<Digest> identity = cache_.toolchain_identity(name);
  if (!identity) {
    identity = toolchain.identity();
    ++identified_;
    if (!stamp.empty() && toolchain.stamp() == stamp) cache_.remember_toolchain(name, *identity);
  }
  return identities_.emplace(name, *identity).first->second;
}

void Session::note_passed_over(const std::string& text) {
  if (warned_.exchange(true)) return;  // once: a pack holds hundreds
  log(LogLevel::kWarning, "jit",
      text + "; kernels like it are compiled here. A plan's `passed_over` names its own");
}

CompiledUnit Session::find_or_compile(Toolchain& toolchain, const Unit& unit,
                                      const Identified& what) {
  std::vector<std::string> passed_over;
  const auto accept = [&](const FoundEntry& found) {
    const std::string why = toolchain.objection(found.entry.record.toolchain);
    if (why.empty()) return true;
    passed_over.push_back(fmt::format("{} is passed over: {}", found.path, why));
    note_passed_over(passed_over.back());
    return false;
  };
  try {
    CompiledUnit unit_found = find_or_compile(toolchain, unit, what, accept);
    unit_found.passed_over = std::move(passed_over);
    return unit_found;
  } catch (const Error& error) {
    if (passed_over.empty()) throw;
    std::string text = std::string(error.what()) + "\n" + join(passed_over, "\n");
    if (dynamic_cast<const CompileError*>(&error) != nullptr)
      throw CompileError(error.code(), std::move(text));
    fail_text(error.code(), std::move(text));
  }
}

CompiledUnit Session::find_or_compile(Toolchain& toolchain, const Unit& unit,
                                      const Identified& what, const Cache::Accept& accept) {
  const Clock::time_point start = Clock::now();
  const auto finish = [&](Entry entry, Origin origin) {
    return CompiledUnit{what.source, std::move(entry), origin, ms_since(start), {}};
  };
  if (auto found = cache_.find_by_source(what.source, accept)) {
    return finish(std::move(found->entry), Origin::kPack);
  }
  const std::string stamp = toolchain.stamp();
  if (auto found = find(what.source, stamp, accept)) {
    return finish(std::move(found->entry), origin_of(found->layer));
  }
  const Digest identity = identity_of(toolchain, stamp);
  const auto find_by_key = [&]() -> std::optional<FoundEntry> {
    if (toolchain.reads_system_headers()) return find(what.source, stamp, accept);
    const Digest key = binary_digest(what.source, identity);
    auto found = cache_.find(key, what.source, accept);
    if (found) cache_.remember(what.source, {stamp, key, {}});
    return found;
  };
  if (auto found = find_by_key()) return finish(std::move(found->entry), origin_of(found->layer));
  cache_.count_miss();
  if (!options_.may_compile) {
    fail(Code::kUnsupported,
         "{} {} for {} is in no layer of the cache, and this session may not compile; add a pack "
         "that "
         "holds {}",
         unit.kernel, unit.cfg, unit.arch, hex(what.source));
  }
  const KeyLock lock(cache_.lock_directory(), what.source, options_.lock_patience);
  // Another process may have published since we looked.
  if (auto found = find_by_key()) return finish(std::move(found->entry), origin_of(found->layer));
  return finish(compile_unit(toolchain, unit, what, stamp, identity), Origin::kCompiled);
}

Binary Session::run_compiler(Toolchain& toolchain, const Unit& unit, const Identified& what) {
  const Range range("compile", unit.entry);
  try {
    return toolchain.compile({unit, what.settings.flags, what.headers, unit.entry + ".cu"});
  } catch (const CompileFailure& failure) {
    ++failed_;
    const std::string kept = cache_.keep_failed(unit, what.source, failure.log());
    throw CompileError(
        Code::kInternal,
        fmt::format("{} refuses {} {} for {}; the source is {}\n{}", toolchain.description(),
                    unit.kernel, unit.cfg, unit.arch,
                    kept.empty() ? "not kept: nowhere can be written" : kept, failure.log()));
  }
}

Entry Session::compile_unit(Toolchain& toolchain, const Unit& unit, const Identified& what,
                            const std::string& stamp, const Digest& identity) {
  const Clock::time_point start = Clock::now();
  Binary binary = run_compiler(toolchain, unit, what);
  ++compiled_;
  EntryRecord record;
  record.compile_ms = ms_since(start);
  record.key = binary_digest(what.source, identity, digest_of(binary.dependencies));
  record.source_digest = what.source;
  record.kernel = unit.kernel;
  record.entry = unit.entry;
  record.arch = unit.arch;
  record.cfg = unit.cfg;
  record.toolchain = toolchain.description();
  record.flags = what.settings.flags;
  record.source = unit.source;
  record.log = std::move(binary.log);
  record.facts = binary.facts;
  record.shape = unit.shape;
  record.dependencies = std::move(binary.dependencies);
  record.created = std::time(nullptr);
  std::vector<std::byte> file = encode_entry(record, binary.image);
  // A compiler or header that changed meanwhile would bless the wrong bytes with this key.
  if (toolchain.stamp() == stamp && unchanged(record.dependencies)) {
    cache_.publish(record.key, file);
    if (!stamp.empty()) cache_.remember(what.source, {stamp, record.key, record.dependencies});
  }
  std::string why;
  auto entry = decode_entry(std::move(file), &why);
  if (!entry) fail(Code::kInternal, "an entry just encoded is {}", why);
  return std::move(*entry);
}

SessionCounters Session::counters() const {
  return {compiled_, failed_, memory_hits_, identified_, cache_.counters()};
}

}  // namespace kw::jit
