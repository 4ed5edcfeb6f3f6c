// SPDX-License-Identifier: Apache-2.0
// kw doctor: what kw finds on this machine, what it does not, and what to do about it.
#include <ostream>

#include <fmt/format.h>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/diagnosis.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/table.hpp"

namespace kw::cli {
namespace {

using capi::Absence;
using capi::CacheFact;
using capi::Diagnosis;
using capi::Finding;

std::string gibibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

std::string device_table(const Diagnosis& diagnosis, bool colour) {
  Table table({"", ""});
  if (diagnosis.cpu) {
    const Hardware& cpu = *diagnosis.cpu;
    table.add({"cpu", cpu.model});
    table.add({"capability", capability_text(cpu.kind, cpu.capability)});
    table.add({"features", join(cpu.features, " ")});
    table.add({"threads", std::to_string(cpu.units)});
    table.add({"memory", gibibytes(diagnosis.memory.total_bytes) + ", " +
                             gibibytes(diagnosis.memory.free_bytes) + " available"});
  }
  std::vector<std::string> caches;
  for (const CacheFact& cache : diagnosis.caches) {
    caches.push_back(fmt::format("{} {} (processors {})", cache.name, cache.size, cache.shared_by));
  }
  if (!caches.empty()) table.add({"caches", join(caches)});
  for (std::size_t i = 0; i < diagnosis.cuda.size(); ++i) {
    const Hardware& cuda = diagnosis.cuda[i];
    table.add({fmt::format("cuda:{}", cuda.index),
               fmt::format("{}, {}, {} multiprocessors, compiled for as {}", cuda.model,
                           capability_text(cuda.kind, cuda.capability), cuda.units,
                           diagnosis.cuda_archs[i])});
  }
  if (const int version = runtime::cuda_driver_version(); version > 0) {
    table.add({"driver", fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)});
  }
  if (!diagnosis.cuda_compiler.empty()) {
    table.add({"compiler", diagnosis.cuda_compiler + ", " + diagnosis.cuda_compiler_path});
  }
  return table.text(colour);
}

void print(const Diagnosis& diagnosis, const Console& console) {
  const bool colour = console.out_colour;
  console.out << console.heading("kw " KW_VERSION) << device_table(diagnosis, colour);

  if (!diagnosis.environment.empty()) {
    Table table({"variable", "value in effect", "", "meaning"});
    for (const EnvironmentRow& row : diagnosis.environment) {
      table.add({Cell(row.name, row.set ? Style::kHeading : Style::kPlain), row.value,
                 row.set ? "set" : "", row.meaning});
    }
    console.out << '\n' << console.heading("environment") << table.text(colour);
  }

  if (!diagnosis.kernel_caches.empty()) {
    Table caches({"layer", ">kernels", ">bytes", "directory", ""});
    for (const jit::CacheStats::Root& root : diagnosis.kernel_caches) {
      const bool own = root.layer == jit::Layer::kUser;
      caches.add({jit::kLayerNames[static_cast<int>(root.layer)], std::to_string(root.entries),
                  std::to_string(root.bytes), root.path,
                  own ? diagnosis.kernel_cache_state : root.problem});
    }
    console.out << '\n' << console.heading("compiled kernels") << caches.text(colour);
  }

  const capi::EvidenceFacts& evidence = diagnosis.evidence;
  Table proofs({"", ""});
  proofs.add(
      {"stored", fmt::format("{} in {}, {} of them of this machine and suite", evidence.stored,
                             evidence.directory, evidence.of_this_machine)});
  proofs.add({"required", evidence.required ? fmt::format("yes ({})", evidence.origin)
                                            : "only where settings ask: model.require_evidence"});
  console.out << '\n' << console.heading("evidence") << proofs.text(colour);

  Table libraries({"", ""});
  for (const std::string& path : diagnosis.libraries) {
    const std::size_t slash = path.rfind('/');
    libraries.add({path.substr(slash + 1), path.substr(0, slash)});
  }
  console.out << '\n' << console.heading("libraries in this process") << libraries.text(colour);

  Table absent({"", ""});
  for (const Absence& absence : diagnosis.absent) absent.add({absence.what, absence.reason});
  console.out << '\n' << console.heading("absent") << absent.text(colour);

  console.out << '\n' << console.heading("problems");
  if (diagnosis.problems.empty()) {
    console.out << "  " << styled("none", Style::kGood, colour) << '\n';
    return;
  }
  Table problems({"", "problem", "fix"});
  for (const Finding& finding : diagnosis.problems) {
    problems.add({finding.fatal ? Cell("error", Style::kBad) : Cell("warning", Style::kWarning),
                  finding.what, finding.fix});
  }
  console.out << problems.text(colour);
}

ExitCode run_doctor(const Flags& flags, Console& console) {
  const Diagnosis diagnosis = capi::diagnose(capi::Resolving::kAllowed);
  if (flags.json) {
    console.out << capi::doctor_json(diagnosis) << '\n';
  } else {
    print(diagnosis, console);
  }
  return diagnosis.fatal() ? ExitCode::kEnvironment : ExitCode::kPassed;
}

}  // namespace

Command doctor_command() {
  return {
      "doctor", "devices, compiler, caches, environment, what is absent and why, and what to fix",
      "",       {Flag::kJson},
      false,    run_doctor};
}

}  // namespace kw::cli
