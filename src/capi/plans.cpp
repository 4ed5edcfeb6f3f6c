// SPDX-License-Identifier: Apache-2.0
// Plans of the C interface, and the list of those that live.
#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/capi/boundary.hpp"
#include "kernelwright/capi/call_arguments.hpp"
#include "kernelwright/capi/control.hpp"
#include "kernelwright/capi/fixed_plan.hpp"

struct kw_plan {
  kw::capi::FixedPlan fixed;
};

namespace kw::capi {
namespace {

constexpr Field kPlanFields[] = {
    {"problem", Type::kText, "? stands for any size of a dynamic dimension"},
    {"device", Type::kText, "cpu, cuda, cuda:1 or auto; absent: the device of initialize"},
    {"cfg", Type::kCfg, "fields of the Cfg to pin"},
};

struct Registry {
  std::mutex mutex;
  std::vector<kw_plan*> plans;  // in order of creation; guarded
};

Registry& registry() {
  static auto* const value = new Registry;  // handles of static duration may go after it
  return *value;
}

kw_plan* create(const char* text) {
  const Request request(parse_object(text), "plan", kPlanFields);
  request.require("problem");
  const Place place = place_of(request.text("device"));
  std::vector<Problem> problems = problems_of(request, place.context.catalog());
  if (problems.size() != 1) {
    fail(
        Code::kInvalidArgument,
        "request 'plan': the field 'problem' stands for {} problems; a plan is for one, in which ? "
        "stands for any size",
        problems.size());
  }
  // NOLINTNEXTLINE(modernize-make-unique): an aggregate
  auto plan = std::unique_ptr<kw_plan>(
      new kw_plan{{place, std::move(problems.front()), request.cfg("cfg")}});
  const std::lock_guard lock(registry().mutex);
  registry().plans.push_back(plan.get());
  return plan.release();
}

Json parts_json(const Recipe& recipe) {
  Json rows = Json::array();
  for (const Recipe& part : recipe.parts) {
    rows.push_back({{"problem", problem_text(part.problem)},
                    {"implementation", part.implementation->info.name},
                    {"specialization", part.specialization.text},
                    {"parts", parts_json(part)}});
  }
  return rows;
}

Json plan_json(const FixedPlan& plan) {
  const Recipe& recipe = plan.recipe();
  return {{"problem", problem_text(plan.problem())},
          {"device", device_name(plan.port())},
          {"implementation", recipe.implementation->info.name},
          {"specialization", recipe.specialization.text},
          {"geometry", recipe.specialization.origin},
          {"parts", parts_json(recipe)}};
}

std::string plan_info(const FixedPlan& plan) {
  Json json = plan_json(plan);
  json["facts"] = Json::object();
  for (const auto& [name, value] : plan.facts()) json["facts"][name] = value;
  return dump(json);
}

std::string registered_plans() {
  Json rows = Json::array();
  const std::lock_guard lock(registry().mutex);
  for (const kw_plan* plan : registry().plans) rows.push_back(plan_json(plan->fixed));
  return dump(Json{{"plans", std::move(rows)}});
}

struct ReadyCall {
  explicit ReadyCall(const Contract& contract) : arguments(contract) {}
  Arguments arguments;
  std::shared_ptr<const CallScratch> scratch;
};

int launch(FixedPlan& plan, std::span<const kw_arguments> calls, void* workspace,
           std::int64_t workspace_bytes, void* handle) {
  require_stream(plan.port(), handle);
  CallerWorkspace own(workspace, workspace_bytes);
  const Stream stream{&plan.port(), handle, own.source()};
  std::list<ReadyCall> ready;  // Arguments do not move
  for (const kw_arguments& call : calls) {
    ReadyCall& next = ready.emplace_back(plan.contract());
    read_arguments(call, next.arguments);
    next.scratch = plan.fit(next.arguments.data());
  }
  for (const ReadyCall& call : ready) {
    const auto [bytes, zeroed_bytes] = call.scratch->size;
    const bool lacks = bytes > 0 && stream.workspace == nullptr &&
                       plan.port().workspace(handle, bytes, zeroed_bytes) == nullptr;
    if (lacks && plan.port().is_capturing(handle)) {
      return refuse(
          KW_NOT_PREPARED,
          fmt::format("{}: the stream is capturing and lacks {} bytes of workspace; bring "
                      "one, or launch once outside capture",
                      plan.problem().label(), bytes)
              .c_str());
    }
    plan.require_workspace(*call.scratch, stream);
  }
  for (const ReadyCall& call : ready) {
    const Status status = plan.launch(call.arguments.data(), *call.scratch, stream);
    if (!status) return code_of(status);
  }
  return KW_OK;
}

}  // namespace

std::span<const Field> plan_fields() noexcept { return kPlanFields; }

}  // namespace kw::capi

extern "C" {

int kw_plan_create(const char* request_json, kw_plan** out) noexcept {
  return kw::capi::guarded([&] {
    kw::capi::require_pointer(out, "out");
    *out = nullptr;
    *out = kw::capi::create(kw::capi::require_text(request_json, "request_json"));
  });
}

int kw_plan_launch(kw_plan* plan, const kw_tensor* tensors, int32_t num_tensors,
                   const kw_scalar* scalars, int32_t num_scalars, void* workspace,
                   int64_t workspace_bytes, void* stream) noexcept {
  const kw_arguments call{tensors, scalars, num_tensors, num_scalars};
  return kw_plan_launch_multi(plan, &call, 1, workspace, workspace_bytes, stream);
}

int kw_plan_launch_multi(kw_plan* plan, const kw_arguments* calls, int32_t num_calls,
                         void* workspace, int64_t workspace_bytes, void* stream) noexcept {
  return kw::capi::guarded([&] {
    kw::capi::require_pointer(plan, "plan");
    if (num_calls < 0) kw::fail(kw::Code::kInvalidArgument, "num_calls is {}", num_calls);
    if (num_calls > 0) kw::capi::require_pointer(calls, "calls");
    return kw::capi::launch(plan->fixed, {calls, static_cast<std::size_t>(num_calls)}, workspace,
                            workspace_bytes, stream);
  });
}

int kw_plan_workspace(kw_plan* plan, const kw_tensor* tensors, int32_t num_tensors,
                      const kw_scalar* scalars, int32_t num_scalars, int64_t* bytes,
                      int64_t* zeroed_bytes) noexcept {
  return kw::capi::guarded([&] {
    kw::capi::require_pointer(plan, "plan");
    kw::capi::answer_workspace(plan->fixed.contract(), {tensors, scalars, num_tensors, num_scalars},
                               bytes, zeroed_bytes,
                               [&](const void* args) { return plan->fixed.workspace(args); });
  });
}

int kw_plan_info(kw_plan* plan, char** json) noexcept {
  return kw::capi::answered(json, "json", [&] {
    kw::capi::require_pointer(plan, "plan");
    return kw::capi::plan_info(plan->fixed);
  });
}

void kw_plan_destroy(kw_plan* plan) noexcept {
  if (plan == nullptr) return;
  {
    auto& registry = kw::capi::registry();
    const std::lock_guard lock(registry.mutex);
    registry.plans.erase(std::find(registry.plans.begin(), registry.plans.end(), plan));
  }
  delete plan;
}

int kw_registered_plans(char** json) noexcept {
  return kw::capi::answered(json, "json", [] { return kw::capi::registered_plans(); });
}

}  // extern "C"
