// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/selftest/self_test.hpp"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/suite/checks/page_guard.hpp"
#include "kernelwright/suite/runner.hpp"
#include "kernelwright/suite/selftest/emulated_device.hpp"
#include "kernelwright/suite/selftest/probe.hpp"

namespace kw::suite {
namespace {

constexpr int kRepeats = 5;
constexpr double kMemoryBytes = 1e9;

// A gap between the rows of an output has no problem text: the first output gets one.
Problem with_gaps(Problem problem) {
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    TensorSpec& tensor = problem.values[i].tensor;
    if (problem.contract->parameters[i].role != Role::kOutput || !tensor.present) continue;
    tensor.contiguous = false;
    tensor.strides = {tensor.sizes[1] + 16, 1};
    break;
  }
  return problem;
}

CaseResult run_case(const Saboteur& saboteur, Sabotage sabotage, DeviceKind kind,
                    const SelfTestDevice& place) {
  Catalog catalog;
  add_probes(catalog, sabotage, kind, place.toolchain);
  Platform platform{catalog, place.device, {}, {}};
  platform.second_device = place.second;
  platform.pages = place.pages;
  if (place.pages != nullptr)
    place.pages->use(kit::kSabotageNames[static_cast<std::size_t>(sabotage)]);
  Problem problem = parse_problem(saboteur.problem, catalog);
  if (saboteur.sabotage == Sabotage::kWriteGap) problem = with_gaps(std::move(problem));
  const std::string name =
      std::string(device_kind_name(kind)) + ".toy." + problem.contract->operation;
  const auto [operation, implementation] = catalog.find_implementation(name);
  const Request request;
  TargetRunner runner(Target{operation, implementation}, request, platform, kRepeats, kMemoryBytes);
  runner.check_classes();
  return runner.run({problem, saboteur.fill, 1});
}

CaseResult run_in_software(const Saboteur& saboteur, Sabotage sabotage) {
  const DeviceKind kind = saboteur.asynchronous ? DeviceKind::kCuda : DeviceKind::kCpu;
  EmulatedDevice device(kind), second(kind, 1);
  EmulatedDevice::make_current(&second);  // what the caller had chosen
  CaseResult result =
      run_case(saboteur, sabotage, kind, {device, saboteur.asynchronous ? &second : nullptr, {}});
  EmulatedDevice::make_current(nullptr);
  return result;
}

CaseResult run(const Saboteur& saboteur, Sabotage sabotage, const SelfTestDevice* real) {
  if (real == nullptr) return run_in_software(saboteur, sabotage);
  return run_case(saboteur, sabotage, real->device.hardware().kind, *real);
}

std::string why_skipped(const Saboteur& saboteur, const SelfTestDevice* real) {
  if (real == nullptr)
    return saboteur.needs_page_guards && !has_page_guards() ? "needs page guards" : "";
  if (!saboteur.not_on_device().empty()) return std::string(saboteur.not_on_device());
  if (saboteur.needs_page_guards && real->pages == nullptr)
    return "needs page guards (--guard-pages)";
  if (saboteur.sabotage == Sabotage::kFirstDevice && real->second == nullptr)
    return "needs a second device";
  return "";
}

bool is_passed(const CaseResult& result) { return result.status == CaseStatus::kPassed; }

}  // namespace

int SelfTestReport::killed() const noexcept {
  return static_cast<int>(
      std::count_if(rows.begin(), rows.end(), [](const SelfTestRow& row) { return row.killed; }));
}

int SelfTestReport::skipped() const noexcept {
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [](const SelfTestRow& row) { return !row.skipped.empty(); }));
}

std::vector<const SelfTestRow*> SelfTestReport::survivors() const {
  std::vector<const SelfTestRow*> found;
  for (const SelfTestRow& row : rows) {
    if (!row.killed && row.skipped.empty()) found.push_back(&row);
  }
  return found;
}

std::vector<const SelfTestRow*> SelfTestReport::false_alarms() const {
  std::vector<const SelfTestRow*> found;
  for (const SelfTestRow& row : rows) {
    if (row.skipped.empty() && !is_passed(row.control)) found.push_back(&row);
  }
  return found;
}

std::shared_ptr<DevicePages> self_test_pages(std::function<SelfTestDevice()> open) {
  // Of the worker.
  struct Opened {
    std::optional<SelfTestDevice> place;
    std::unique_ptr<Catalog> catalog;
    std::optional<Platform> platform;
  };
  return std::make_shared<DevicePages>(
      [open = std::move(open),
       opened = std::make_shared<Opened>()](const std::string& name) -> const Platform& {
        if (!opened->place) opened->place.emplace(open());
        const auto* const found =
            std::find(std::begin(kit::kSabotageNames), std::end(kit::kSabotageNames), name);
        if (found == std::end(kit::kSabotageNames))
          fail(Code::kInternal, "a worker knows no saboteur '{}'", name);
        const auto sabotage = static_cast<Sabotage>(found - kit::kSabotageNames);
        opened->platform.reset();
        opened->catalog = std::make_unique<Catalog>();
        add_probes(*opened->catalog, sabotage, opened->place->device.hardware().kind,
                   opened->place->toolchain);
        return opened->platform.emplace(Platform{*opened->catalog, opened->place->device, {}, {}});
      });
}

SelfTestReport run_self_test(const std::string& only,
                             const std::function<void(const SelfTestRow&)>& progress,
                             const SelfTestDevice* real) {
  SelfTestReport report;
  std::vector<std::string> names;
  for (const Saboteur& saboteur : saboteurs()) {
    names.emplace_back(saboteur.name());
    if (!only.empty() && only != saboteur.name()) continue;
    SelfTestRow row;
    row.saboteur = &saboteur;
    row.skipped = why_skipped(saboteur, real);
    if (row.skipped.empty()) {
      row.control = run(saboteur, Sabotage::kNone, real);
      row.result = run(saboteur, saboteur.sabotage, real);
      const auto& codes = saboteur.codes;
      row.killed = row.result.status == CaseStatus::kFailed &&
                   std::find(codes.begin(), codes.end(), row.result.reason) != codes.end();
    }
    if (progress) progress(row);
    report.rows.push_back(std::move(row));
  }
  if (report.rows.empty())
    fail_text(Code::kNotFound, unknown_name_message("saboteur", only, names));
  return report;
}

std::string to_json(const SelfTestReport& report) {
  using Json = nlohmann::ordered_json;
  Json defects = Json::array();
  for (const SelfTestRow& row : report.rows) {
    defects.push_back({{"name", row.saboteur->name()},
                       {"what", row.saboteur->what},
                       {"problem", row.saboteur->problem},
                       {"fill", fill_name(row.saboteur->fill)},
                       {"skipped", row.skipped},
                       {"killed", row.killed},
                       {"reason", reason_name(row.result.reason)},
                       {"message", row.result.message}});
  }
  const Json json{{"schema", "kw.self_test/1"},
                  {"killed", report.killed()},
                  {"of", static_cast<int>(report.rows.size()) - report.skipped()},
                  {"false_alarms", report.false_alarms().size()},
                  {"defects", std::move(defects)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kw::suite
