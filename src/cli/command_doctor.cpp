// SPDX-License-Identifier: Apache-2.0
// kw doctor: what kw finds on this machine, what it does not, and what to do about it.
#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/request.hpp"
#include "kernelwright/cli/system_facts.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/jit/cache.hpp"
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
  std::vector<std::string> cuda_archs;            // what is compiled for each of them
  std::string cuda_compiler, cuda_compiler_path;  // "": there is none
  std::vector<jit::CacheStats::Root> kernel_caches;
  std::string kernel_cache_state;  // of the user's: "writable", "read only", or what is wrong
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

void require_architecture(Diagnosis& diagnosis, jit::NvrtcToolchain& nvrtc, const Hardware& cuda) {
  const std::vector<int> known = nvrtc.architectures();
  if (std::find(known.begin(), known.end(), cuda.capability) != known.end()) return;
  diagnosis.problems.push_back(
      {false,
       fmt::format("{} at {} does not know {} of cuda:{}", diagnosis.cuda_compiler,
                   diagnosis.cuda_compiler_path, capability_text(cuda.kind, cuda.capability),
                   cuda.index),
       "install a newer wheel nvidia-cuda-nvrtc, or set KW_NVRTC to a newer library"});
}

// Devices without a compiler still run what packs and caches hold; without devices, a compiler
// still fills caches for others.
void examine_cuda(Diagnosis& diagnosis) {
  diagnosis.cuda = runtime::cuda_devices();
  for (const Hardware& cuda : diagnosis.cuda) {
    diagnosis.cuda_archs.push_back(jit::cuda_arch(cuda));
  }
  jit::NvrtcToolchain nvrtc(jit::nvrtc_options(environment(), runtime::cuda_driver_version()));
  try {
    diagnosis.cuda_compiler = nvrtc.description();
    diagnosis.cuda_compiler_path = nvrtc.library();
    for (const Hardware& cuda : diagnosis.cuda) require_architecture(diagnosis, nvrtc, cuda);
  } catch (const Error& error) {
    if (diagnosis.cuda.empty()) {
      diagnosis.absent.push_back({"compiler nvrtc", error.what()});
    } else {
      diagnosis.problems.push_back(
          {false, error.what(), "until then only kernels of packs and caches run on cuda"});
    }
  }
}

void examine_kernel_cache(Diagnosis& diagnosis) {
  const jit::Cache cache(jit::cache_options(environment()));
  const std::string obstacle = cache.write_obstacle();
  const bool as_asked = cache.options().read_only;
  diagnosis.kernel_cache_state = obstacle.empty() ? "writable" : as_asked ? "read only" : obstacle;
  if (!obstacle.empty() && !as_asked) {
    diagnosis.problems.push_back(
        {false, obstacle, "until then every process compiles its kernels anew"});
  }
  diagnosis.kernel_caches = cache.stats().roots;
  for (const jit::CacheStats::Root& root : diagnosis.kernel_caches) {
    if (root.layer == jit::Layer::kUser || root.problem.empty()) continue;
    diagnosis.problems.push_back(
        {false, root.problem, "correct KW_PACKS; until then it is not read"});
  }
}

void examine_plugins(Diagnosis& diagnosis) {
  diagnosis.absent.push_back({"plugins", "this build loads none"});
  const std::vector<std::string>& asked = environment().plugins;
  if (asked.empty()) return;
  diagnosis.problems.push_back(
      {false, "KW_PLUGINS names " + join(asked) + ", and this build loads no plugins", "unset it"});
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
  guarded(diagnosis, "correct or unset the variable that the message names", [&] {
    examine_kernel_cache(diagnosis);
    examine_plugins(diagnosis);
  });
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
  for (std::size_t i = 0; i < diagnosis.cuda.size(); ++i) {
    const Hardware& cuda = diagnosis.cuda[i];
    json["devices"].push_back({{"name", fmt::format("cuda:{}", cuda.index)},
                               {"model", cuda.model},
                               {"capability", cuda.capability},
                               {"features", cuda.features},
                               {"arch", diagnosis.cuda_archs[i]},
                               {"multiprocessors", cuda.units},
                               {"last_level_cache_bytes", cuda.last_level_cache_bytes}});
  }
  json["cuda"] = {{"driver", runtime::cuda_driver_version()},
                  {"compiler", diagnosis.cuda_compiler},
                  {"compiler_path", diagnosis.cuda_compiler_path}};
  json["kernel_cache"] = {{"state", diagnosis.kernel_cache_state}, {"layers", Json::array()}};
  for (const jit::CacheStats::Root& root : diagnosis.kernel_caches) {
    json["kernel_cache"]["layers"].push_back(
        {{"layer", jit::kLayerNames[static_cast<int>(root.layer)]},
         {"directory", root.path},
         {"kernels", root.entries},
         {"bytes", root.bytes},
         {"problem", root.problem}});
  }
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
  return {
      "doctor", "devices, compiler, caches, environment, what is absent and why, and what to fix",
      "",       {Flag::kJson},
      false,    run_doctor};
}

}  // namespace kw::cli
