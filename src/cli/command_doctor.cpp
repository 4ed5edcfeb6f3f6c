// SPDX-License-Identifier: Apache-2.0
// kw doctor: what kw finds on this machine, what it does not, and what to do about it.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/system_facts.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Finding {
  bool fatal = false;  // calls will fail; else a warning
  std::string what, fix;
};

struct Absence {
  std::string what, reason;
};

struct Diagnosis {
  std::optional<Hardware> cpu;  // nothing: it could not be opened, and a problem says why
  runtime::MemoryInfo memory;
  std::vector<Hardware> cuda;
  std::string cuda_compiler;  // "" when no device needs one, or there is none
  std::vector<CacheFact> caches;
  std::vector<EnvironmentRow> environment;
  std::vector<std::string> libraries;
  std::vector<Absence> absent;
  std::vector<Finding> problems;

  bool fatal() const {
    return std::any_of(problems.begin(), problems.end(), [](const Finding& p) { return p.fatal; });
  }
};

void examine_environment(Diagnosis& diagnosis) {
  const Environment& variables = environment();
  diagnosis.environment = variables.table;
  for (const UnknownVariable& unknown : variables.unknown) {
    diagnosis.problems.push_back({false, "nothing reads the variable " + unknown.name,
                                  unknown.nearest.empty()
                                      ? "unset it"
                                      : "unset it, or did you mean " + unknown.nearest + "?"});
  }
}

// Resolving with the process's overrides is what every program that uses the library does first.
void examine_device(Diagnosis& diagnosis, Catalog& catalog) {
  const auto device = open_device({});
  diagnosis.cpu = device->hardware();
  diagnosis.memory = device->memory_info();
  if (diagnosis.cpu->capability < 2) {
    diagnosis.problems.push_back(
        {false, "the processor, or the operating system on it, lacks AVX2, FMA or F16C",
         "run on x86-64 from 2013 or later; only implementations without such a need serve here"});
  }
  const Context context(catalog, settings_of({}, catalog, {}), *device);
}

// Devices without a compiler still run what packs and caches hold.
void examine_cuda(Diagnosis& diagnosis) {
  diagnosis.cuda = runtime::cuda_devices();
  if (diagnosis.cuda.empty()) return;
  try {
    diagnosis.cuda_compiler = jit::cuda_toolchain().description();
  } catch (const Error& error) {
    diagnosis.problems.push_back(
        {false, error.what(), "until then only kernels of packs and caches run on cuda"});
  }
}

void examine_absences(Diagnosis& diagnosis, const Catalog& catalog) {
  if (diagnosis.cuda.empty()) {
    diagnosis.absent.push_back({"device cuda", runtime::cuda_absence()});
  }
  diagnosis.absent.push_back({"device npu", "in the vocabulary only; a plugin may serve it"});
  for (const Exclusion& exclusion : catalog.exclusions()) {
    diagnosis.absent.push_back({exclusion.implementation, exclusion.reason});
  }
  std::vector<std::string> operations;
  for (const KnownField& known : catalog.known_fields()) {
    const bool listed =
        std::find(operations.begin(), operations.end(), known.operation) != operations.end();
    if (!listed && catalog.find(known.operation) == nullptr) operations.push_back(known.operation);
  }
  if (!operations.empty()) {
    diagnosis.absent.push_back(
        {"operations", "known to configuration, not in this build: " + join(operations)});
  }
}

// An examination that throws is itself a finding.
template <typename Examine>
void guarded(Diagnosis& diagnosis, std::string_view fix, Examine examine) {
  try {
    examine();
  } catch (const Error& error) {
    const auto same = [&](const Finding& finding) { return finding.what == error.what(); };
    const auto& known = diagnosis.problems;
    if (std::none_of(known.begin(), known.end(), same)) {
      diagnosis.problems.push_back({true, error.what(), std::string(fix)});
    }
  }
}

Diagnosis diagnose() {
  Diagnosis diagnosis;
  Catalog& catalog = builtin_catalog();
  guarded(diagnosis, "correct or unset the variable", [&] { examine_environment(diagnosis); });
  guarded(diagnosis, "correct or unset the variable that the message names",
          [&] { examine_device(diagnosis, catalog); });
  guarded(diagnosis, "correct or unset the variable that the message names",
          [&] { examine_cuda(diagnosis); });
  examine_absences(diagnosis, catalog);
  diagnosis.caches = processor_caches();
  diagnosis.libraries = loaded_libraries();
  return diagnosis;
}

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
  for (const Hardware& cuda : diagnosis.cuda) {
    table.add({fmt::format("cuda:{}", cuda.index),
               fmt::format("{}, {}, {} multiprocessors", cuda.model,
                           capability_text(cuda.kind, cuda.capability), cuda.units)});
  }
  if (const int version = runtime::cuda_driver_version(); version > 0) {
    table.add({"driver", fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10)});
  }
  if (!diagnosis.cuda_compiler.empty()) table.add({"compiler", diagnosis.cuda_compiler});
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

Json to_json(const Diagnosis& diagnosis) {
  Json json{{"schema", "kw.doctor/1"}, {"version", KW_VERSION}};
  json["devices"] = Json::array();
  if (diagnosis.cpu) {
    const Hardware& cpu = *diagnosis.cpu;
    json["devices"].push_back({{"name", "cpu"},
                               {"model", cpu.model},
                               {"capability", cpu.capability},
                               {"features", cpu.features},
                               {"threads", cpu.units},
                               {"last_level_cache_bytes", cpu.last_level_cache_bytes},
                               {"memory_bytes", diagnosis.memory.total_bytes},
                               {"available_bytes", diagnosis.memory.free_bytes}});
    for (const CacheFact& cache : diagnosis.caches) {
      json["devices"][0]["caches"].push_back(
          {{"name", cache.name}, {"size", cache.size}, {"shared_by", cache.shared_by}});
    }
  }
  for (const Hardware& cuda : diagnosis.cuda) {
    json["devices"].push_back({{"name", fmt::format("cuda:{}", cuda.index)},
                               {"model", cuda.model},
                               {"capability", cuda.capability},
                               {"features", cuda.features},
                               {"multiprocessors", cuda.units},
                               {"last_level_cache_bytes", cuda.last_level_cache_bytes}});
  }
  json["cuda"] = {{"driver", runtime::cuda_driver_version()},
                  {"compiler", diagnosis.cuda_compiler}};
  json["environment"] = Json::array();
  for (const EnvironmentRow& row : diagnosis.environment) {
    json["environment"].push_back(
        {{"name", row.name}, {"value", row.value}, {"set", row.set}, {"meaning", row.meaning}});
  }
  json["libraries"] = diagnosis.libraries;
  json["absent"] = Json::array();
  for (const Absence& absence : diagnosis.absent) {
    json["absent"].push_back({{"what", absence.what}, {"reason", absence.reason}});
  }
  json["problems"] = Json::array();
  for (const Finding& finding : diagnosis.problems) {
    json["problems"].push_back({{"severity", finding.fatal ? "error" : "warning"},
                                {"what", finding.what},
                                {"fix", finding.fix}});
  }
  return json;
}

ExitCode run_doctor(const Flags& flags, Console& console) {
  const Diagnosis diagnosis = diagnose();
  if (flags.json) {
    console.out << to_json(diagnosis).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    print(diagnosis, console);
  }
  return diagnosis.fatal() ? ExitCode::kEnvironment : ExitCode::kPassed;
}

}  // namespace

Command doctor_command() {
  return {"doctor", "device, environment, libraries, what is absent and why, and what to fix",
          "",       {Flag::kJson},
          false,    run_doctor};
}

}  // namespace kw::cli
