// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/capi/diagnosis.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/backend/cpu/cpu_device.hpp"
#include "kernelwright/backend/cuda/cuda_device.hpp"
#include "kernelwright/backend/cuda/cuda_toolchain.hpp"
#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"
#include "kernelwright/base/error.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/context.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "kernelwright/ops/evidence_gate.hpp"

namespace kw::capi {
namespace {

using Json = nlohmann::ordered_json;

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

// Resolving with the process's overrides is what every program that uses the library does first;
// but it ends registration, which one that has not come to it yet may still want.
void examine_device(Diagnosis& diagnosis, Catalog& catalog, Resolving resolving) {
  runtime::CpuDevice device;
  diagnosis.cpu = device.hardware();
  diagnosis.memory = device.memory_info();
  if (diagnosis.cpu->capability < 2) {
    diagnosis.problems.push_back(
        {false, "the processor, or the operating system on it, lacks AVX2, FMA or F16C",
         "run on x86-64 from 2013 or later; only implementations without such a need serve here"});
  }
  Settings settings = make_settings(catalog, {});
  if (resolving == Resolving::kAllowed || catalog.frozen()) {
    const Context context(catalog, std::move(settings), device);
  } else {
    settings.on_device(catalog, DeviceKind::kCpu);
  }
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

void examine_evidence(Diagnosis& diagnosis) {
  std::vector<Hardware> here = diagnosis.cuda;
  if (diagnosis.cpu) here.push_back(*diagnosis.cpu);
  const suite::EvidenceStore store = evidence_store();
  EvidenceFacts& facts = diagnosis.evidence;
  facts.directory = store.directory();
  std::vector<std::string> damaged;
  for (const suite::Evidence& evidence : store.list(&damaged)) {
    const suite::EvidenceIdentity& of = evidence.identity;
    ++facts.stored;
    facts.of_this_machine += std::any_of(here.begin(), here.end(), [&](const Hardware& hardware) {
      return of.device_model == hardware.model && of.driver == evidence_driver(hardware.kind) &&
             of.suite_version == suite::kSuiteVersion;
    });
  }
  facts.damaged = static_cast<int>(damaged.size());
  for (const std::string& path : damaged) {
    diagnosis.problems.push_back({false, "'" + path + "' is damaged and counts as no evidence",
                                  "delete it; `kw numerics` stores evidence anew"});
  }
  if (const Context* context = Context::process_default()) {
    facts.required = context->settings().require_evidence;
    facts.origin = context->settings().require_evidence_origin;
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

}  // namespace

Diagnosis diagnose(Resolving resolving) {
  Diagnosis diagnosis;
  Catalog& catalog = builtin_catalog();
  guarded(diagnosis, "correct or unset the variable", [&] { examine_environment(diagnosis); });
  guarded(diagnosis, "correct or unset the variable that the message names",
          [&] { examine_device(diagnosis, catalog, resolving); });
  guarded(diagnosis, "correct or unset the variable that the message names",
          [&] { examine_cuda(diagnosis); });
  guarded(diagnosis, "correct or unset the variable that the message names", [&] {
    examine_kernel_cache(diagnosis);
    examine_evidence(diagnosis);
    examine_plugins(diagnosis);
  });
  examine_absences(diagnosis, catalog);
  diagnosis.caches = processor_caches();
  diagnosis.libraries = loaded_libraries();
  return diagnosis;
}

std::string doctor_json(const Diagnosis& diagnosis) {
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
  const EvidenceFacts& evidence = diagnosis.evidence;
  json["evidence"] = {{"directory", evidence.directory},
                      {"stored", evidence.stored},
                      {"of_this_machine", evidence.of_this_machine},
                      {"damaged", evidence.damaged},
                      {"required", evidence.required},
                      {"origin", evidence.origin}};
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
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kw::capi
