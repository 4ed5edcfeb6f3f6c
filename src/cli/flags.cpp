// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/flags.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace kw::cli {
namespace {

constexpr int kMaxCount = 100'000'000;

struct Row {
  Flag flag;
  const char* name;
  const char* value;  // placeholder in help; "" for a switch
  const char* help;
  CLI::Option* (*add)(CLI::App&, const Row&, Flags&);
};

template <std::string Flags::*kField>
CLI::Option* add_text(CLI::App& app, const Row& row, Flags& flags) {
  return app.add_option(row.name, flags.*kField, row.help);
}

// One value per mention, so that a value may hold brackets and a following word stays a word.
template <std::vector<std::string> Flags::*kField>
CLI::Option* add_repeatable(CLI::App& app, const Row& row, Flags& flags) {
  return app.add_option(row.name, flags.*kField, row.help)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

template <std::optional<int> Flags::*kField, int kLeast>
CLI::Option* add_count(CLI::App& app, const Row& row, Flags& flags) {
  return app.add_option(row.name, flags.*kField, row.help)->check(CLI::Range(kLeast, kMaxCount));
}

CLI::Option* add_seed(CLI::App& app, const Row& row, Flags& flags) {
  return app.add_option(row.name, flags.seed, row.help);
}

template <bool Flags::*kField>
CLI::Option* add_switch(CLI::App& app, const Row& row, Flags& flags) {
  return app.add_flag(row.name, flags.*kField, row.help);
}

constexpr Row kRows[] = {
    {Flag::kOperation, "--operation", "NAME", "the operation; `kw list` has them",
     add_text<&Flags::operation>},
    {Flag::kVariant, "--variant", "NAME", "one variant of it only", add_text<&Flags::variant>},
    {Flag::kImplementation, "--implementation", "NAME",
     "a solution or an exact name, which implies the operation; strict",
     add_text<&Flags::implementation>},
    {Flag::kProblem, "--problem", "TEXT", "one problem, {a,b} lists several values; repeatable",
     add_repeatable<&Flags::problems>},
    {Flag::kBatch, "--batch", "smoke|ci|full|FILE", "the problems of a batch, or those of a file",
     add_text<&Flags::batch>},
    {Flag::kFuzz, "--fuzz", "N|SECONDSs", "random legal problems instead of a batch: 1000, 600s",
     add_text<&Flags::fuzz>},
    {Flag::kFill, "--fill", "NAME", "contents of the inputs instead of the usual mix",
     add_text<&Flags::fill>},
    {Flag::kDtype, "--dtype", "NAME", "problems of this element type only",
     add_text<&Flags::dtype>},
    {Flag::kSeed, "--seed", "N", "seed of every random choice", add_seed},
    {Flag::kDevice, "--device", "cpu|cuda[:N]", "where to run; cpu when not given",
     add_text<&Flags::device>},
    {Flag::kArch, "--arch", "NAME[,NAME]",
     "architectures to compile for; KW_ARCH, else those of the devices here, when not given",
     add_text<&Flags::arch>},
    {Flag::kMode, "--mode", "eager|graph", "how calls are launched; eager when not given",
     add_text<&Flags::mode>},
    {Flag::kConfig, "--config", "FILE", "YAML with model.ops_implementation",
     add_text<&Flags::config>},
    {Flag::kCfg, "--cfg", "FIELD=VALUE", "pins a field of the specialization; repeatable",
     add_repeatable<&Flags::cfg>},
    {Flag::kProtocol, "--protocol", "NAME",
     "what is timed: host_enqueue, device_cold, graph_hot, wall_sync, call, eager_cold; repeatable",
     add_repeatable<&Flags::protocols>},
    {Flag::kWarmup, "--warmup", "N", "calls before the first sample", add_count<&Flags::warmup, 0>},
    {Flag::kIterations, "--iterations", "N",
     "exactly N samples instead of a stopping rule; of compare, pairs",
     add_count<&Flags::iterations, 1>},
    {Flag::kRepeats, "--repeats", "N", "calls that must agree bitwise",
     add_count<&Flags::repeats, 1>},
    {Flag::kSelfTest, "--self-test", "",
     "whether numerics finds planted defects, instead of judging an implementation",
     add_switch<&Flags::self_test>},
    {Flag::kQuick, "--quick", "",
     "less of it: of tune fewer candidates and rounds, of numerics no checks by class",
     add_switch<&Flags::quick>},
    {Flag::kGuardPages, "--guard-pages", "",
     "CUDA: also calls between unmapped pages, in worker processes; the CPU always has them",
     add_switch<&Flags::guard_pages>},
    {Flag::kMaxSeconds, "--max-seconds", "N", "begins nothing further after this long",
     add_count<&Flags::max_seconds, 1>},
    {Flag::kShard, "--shard", "I/N", "the I-th of N equal parts of the cases, from 1",
     add_text<&Flags::shard>},
    {Flag::kCase, "--case", "ID", "one case of a report only", add_text<&Flags::case_id>},
    {Flag::kText, "--text", "FILE", "text to run over", add_text<&Flags::text>},
    {Flag::kRevision, "--revision", "TEXT", "what was measured, for the report",
     add_text<&Flags::revision>},
    {Flag::kOutput, "--output", "FILE", "also write a report; .json, .md or .html says which",
     add_text<&Flags::output>},
    {Flag::kPack, "--pack", "DIRECTORY", "also add the kernels to this pack, for KW_PACKS",
     add_text<&Flags::pack>},
    {Flag::kJson, "--json", "", "JSON on standard output instead of tables",
     add_switch<&Flags::json>},
    {Flag::kQuiet, "--quiet", "", "no progress, and of the results only failures and the summary",
     add_switch<&Flags::quiet>},
};

bool contains(const std::vector<Flag>& which, Flag flag) {
  return std::find(which.begin(), which.end(), flag) != which.end();
}

}  // namespace

void add_flags(CLI::App& command, Flags& flags, const std::vector<Flag>& which) {
  // Not CLI11's own help flag: that one answers before --operation is known.
  command.set_help_flag();
  for (const Row& row : kRows) {
    if (!contains(which, row.flag)) continue;
    CLI::Option* option = row.add(command, row, flags);
    if (*row.value != '\0') option->option_text(row.value);
  }
  command.add_flag("-h,--help", flags.help, "this text; with --operation, also what it takes");
}

std::vector<std::string> flag_names(const std::vector<Flag>& which) {
  std::vector<std::string> names{"--help"};
  for (const Row& row : kRows) {
    if (contains(which, row.flag)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace kw::cli
