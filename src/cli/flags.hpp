// SPDX-License-Identifier: Apache-2.0
// Every flag of every command: a flag is declared once, so that it means one thing everywhere. A
// command names the flags that it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kw::cli {

// In the order in which help shows them.
enum class Flag {
  kOperation,
  kVariant,
  kImplementation,
  kProblem,
  kBatch,
  kFuzz,
  kFill,
  kDtype,
  kSeed,
  kDevice,
  kArch,
  kMode,
  kConfig,
  kCfg,
  kProtocol,
  kWarmup,
  kIterations,
  kRepeats,
  kSelfTest,
  kQuick,
  kGuardPages,
  kMaxSeconds,
  kShard,
  kCase,
  kText,
  kRevision,
  kOutput,
  kPack,
  kJson,
  kQuiet,
};

// What was given; an empty string or nullopt means: not given.
struct Flags {
  std::vector<std::string> words;  // without a flag
  std::string operation, variant, implementation;
  std::vector<std::string> problems;
  std::string batch;
  std::string fuzz, fill, dtype;
  std::optional<std::uint64_t> seed;
  std::string device, arch, mode, config;
  std::vector<std::string> cfg, protocols;
  std::optional<int> warmup, iterations, repeats, max_seconds;
  std::string shard, case_id, text, revision, output, pack;
  bool json = false, quiet = false, quick = false, self_test = false, guard_pages = false;
  bool help = false;
  std::vector<std::string> argv;  // the whole command line, for reports
};

// Adds `which`, and --help, to `command`; parsing fills `flags`, which must outlive it.
void add_flags(CLI::App& command, Flags& flags, const std::vector<Flag>& which);

// "--operation", ... of `which`, for the nearest name to a wrong one.
std::vector<std::string> flag_names(const std::vector<Flag>& which);

}  // namespace kw::cli
