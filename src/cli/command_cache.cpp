// SPDX-License-Identifier: Apache-2.0
// kw cache: what the layers of the kernel cache hold, whether it is whole, and emptying the user's.
#include <algorithm>
#include <iterator>
#include <ostream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/jit/cache.hpp"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;
using jit::Cache;
using jit::CacheItem;
using jit::CacheStats;

constexpr std::size_t kShortDigest = 12;

std::string registers_text(int value) { return value < 0 ? "?" : std::to_string(value); }

std::string size_text(std::int64_t bytes) {
  return bytes < (1 << 20) ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / (1 << 10))
                           : fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string layer_name(jit::Layer layer) { return jit::kLayerNames[static_cast<int>(layer)]; }

// Name and value, for tables and JSON alike.
PlanFacts facts_of(const CacheItem& item) {
  const auto created = static_cast<std::time_t>(item.record.created);
  PlanFacts facts = jit::facts_of(item.record, item.record.shape);
  facts.insert(facts.end(), {{"created", fmt::format("{:%F %T} UTC", fmt::gmtime(created))},
                             {"layer", layer_name(item.layer)},
                             {"bytes", std::to_string(item.bytes)},
                             {"path", item.path}});
  return facts;
}

Json to_json(const CacheItem& item) {
  Json row = Json::object();
  for (const auto& [name, value] : facts_of(item)) row[name] = value;
  return row;
}

void print_json(const Console& console, std::string_view what, Json value) {
  const Json json{{"schema", "kw.cache/1"}, {what, std::move(value)}};
  console.out << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
}

ExitCode list_entries(const Cache& cache, const Flags& flags, const Console& console) {
  const std::vector<CacheItem> items = cache.list();
  if (flags.json) {
    Json rows = Json::array();
    for (const CacheItem& item : items) rows.push_back(to_json(item));
    print_json(console, "entries", std::move(rows));
    return ExitCode::kPassed;
  }
  Table table({"key", "entry", "arch", ">registers", ">size", "toolchain", "layer"});
  std::int64_t bytes = 0;
  for (const CacheItem& item : items) {
    bytes += item.bytes;
    table.add({hex(item.record.key).substr(0, kShortDigest), item.record.entry, item.record.arch,
               registers_text(item.record.facts.registers), size_text(item.bytes),
               item.record.toolchain, layer_name(item.layer)});
  }
  if (!items.empty()) console.out << table.text(console.out_colour, 0);
  const auto count = static_cast<std::int64_t>(items.size());
  console.out << counted(count, "kernel") << ", " << size_text(bytes) << '\n';
  return ExitCode::kPassed;
}

void print_text(const Console& console, std::string_view title, std::string_view text) {
  console.out << '\n' << console.heading(title) << trim(text) << '\n';
}

ExitCode show_entries(const Cache& cache, const Flags& flags, const Console& console) {
  const std::string& prefix = flags.words[1];
  const std::vector<CacheItem> items = cache.show(prefix);
  if (items.empty()) {
    fail(Code::kNotFound,
         "no kernel has a key, a source digest or an entry name that begins with '{}'; `kw cache "
         "ls` has them",
         prefix);
  }
  if (flags.json) {
    Json rows = Json::array();
    for (const CacheItem& item : items) {
      Json row = to_json(item);
      row["source"] = item.record.source;
      row["log"] = item.record.log;
      rows.push_back(std::move(row));
    }
    print_json(console, "entries", std::move(rows));
    return ExitCode::kPassed;
  }
  for (const CacheItem& item : items) {
    if (&item != &items.front()) console.out << '\n';
    Table table({"", ""});
    for (const auto& [name, value] : facts_of(item)) table.add({name, value});
    console.out << console.heading(item.record.entry) << table.text(console.out_colour);
    print_text(console, "source", item.record.source);
    print_text(console, "compile log", item.record.log);
  }
  return ExitCode::kPassed;
}

std::int64_t entries_of(const CacheStats& stats) {
  std::int64_t entries = 0;
  for (const CacheStats::Root& root : stats.roots) entries += root.entries;
  return entries;
}

ExitCode verify_entries(const Cache& cache, const Flags& flags, const Console& console) {
  const std::int64_t checked = entries_of(cache.stats());
  const std::vector<jit::CacheProblem> problems = cache.verify();
  if (flags.json) {
    Json rows = Json::array();
    for (const auto& problem : problems) {
      rows.push_back({{"path", problem.path}, {"problem", problem.text}});
    }
    print_json(console, "verify", {{"checked", checked}, {"problems", std::move(rows)}});
  } else {
    for (const auto& problem : problems) {
      console.out << styled("damaged", Style::kBad, console.out_colour) << ' ' << problem.path
                  << ": " << problem.text << '\n';
    }
    console.out << counted(checked, "kernel") << " checked, "
                << counted(static_cast<std::int64_t>(problems.size()), "problem") << '\n';
  }
  return problems.empty() ? ExitCode::kPassed : ExitCode::kCheckFailed;
}

ExitCode show_stats(const Cache& cache, const Flags& flags, const Console& console) {
  const CacheStats stats = cache.stats();
  if (flags.json) {
    Json rows = Json::array();
    for (const CacheStats::Root& root : stats.roots) {
      rows.push_back({{"layer", layer_name(root.layer)},
                      {"path", root.path},
                      {"entries", root.entries},
                      {"bytes", root.bytes},
                      {"problem", root.problem}});
    }
    print_json(console, "stats",
               {{"roots", std::move(rows)}, {"failed_sources", stats.failed_sources}});
    return ExitCode::kPassed;
  }
  Table table({"layer", ">kernels", ">size", "directory", ""});
  for (const CacheStats::Root& root : stats.roots) {
    table.add({layer_name(root.layer), std::to_string(root.entries), size_text(root.bytes),
               root.path, Cell(root.problem, Style::kWarning)});
  }
  console.out << table.text(console.out_colour, 0) << counted(stats.failed_sources, "source")
              << " that a compiler refused\n";
  return ExitCode::kPassed;
}

// Of the user's layer, the only one that is written.
std::int64_t user_bytes(const CacheStats& stats) {
  const auto user = std::find_if(stats.roots.begin(), stats.roots.end(),
                                 [](const auto& root) { return root.layer == jit::Layer::kUser; });
  return user == stats.roots.end() ? 0 : user->bytes;
}

ExitCode clear_entries(Cache& cache, const Flags& flags, const Console& console) {
  const std::string& directory = cache.options().directory;
  if (const std::string why = cache.write_obstacle(); !why.empty()) {
    fail_text(Code::kEnvironment, "nothing is cleared: " + why);
  }
  const CacheStats before = cache.stats();
  const std::int64_t removed = cache.clear();
  const CacheStats after = cache.stats();
  const std::int64_t bytes = user_bytes(before) - user_bytes(after);
  const std::int64_t sources = before.failed_sources - after.failed_sources;
  if (flags.json) {
    print_json(console, "cleared",
               {{"directory", directory},
                {"entries", removed},
                {"bytes", bytes},
                {"failed_sources", sources}});
  } else {
    console.out << "removed " << counted(removed, "kernel") << " (" << size_text(bytes) << ") and "
                << counted(sources, "refused source") << " from " << directory << '\n';
  }
  if (user_bytes(after) == 0) return ExitCode::kPassed;
  fail(Code::kEnvironment, "{} still holds {}: its files cannot be removed; who owns them?",
       directory, size_text(user_bytes(after)));
}

struct Action {
  const char* name;
  std::size_t words;  // that it takes, its own among them
  ExitCode (*run)(Cache&, const Flags&, const Console&);
};

template <ExitCode (*kRun)(const Cache&, const Flags&, const Console&)>
ExitCode reading(Cache& cache, const Flags& flags, const Console& console) {
  return kRun(cache, flags, console);
}

constexpr Action kActions[] = {{"ls", 1, reading<list_entries>},
                               {"show", 2, reading<show_entries>},
                               {"verify", 1, reading<verify_entries>},
                               {"stats", 1, reading<show_stats>},
                               {"clear", 1, clear_entries}};

ExitCode run_cache(const Flags& flags, Console& console) {
  std::vector<std::string> names;
  for (const Action& action : kActions) names.emplace_back(action.name);
  if (flags.words.empty()) {
    fail(Code::kInvalidArgument, "kw cache what? One of {}", join(names));
  }
  const std::string& name = flags.words.front();
  const auto action = std::find_if(std::begin(kActions), std::end(kActions),
                                   [&](const Action& each) { return each.name == name; });
  if (action == std::end(kActions)) {
    fail_text(Code::kNotFound, "kw cache: " + unknown_name_message("action", name, names));
  }
  if (flags.words.size() != action->words) {
    fail(Code::kInvalidArgument, "kw cache {} takes {}", name,
         action->words == 1 ? "no further word"
                            : "one word: the beginning of a key, a source digest or an entry name");
  }
  Cache cache(jit::cache_options(environment()));
  return action->run(cache, flags, console);
}

}  // namespace

Command cache_command() {
  return {"cache",
          "compiled kernels on disk: list, show one with its source and log, verify, count, clear",
          "ls | show PREFIX | verify | stats | clear",
          {Flag::kJson},
          true,
          run_cache};
}

}  // namespace kw::cli
