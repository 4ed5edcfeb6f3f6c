// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/checks/device_pages.hpp"

#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/core/problem.hpp"
#include "kernelwright/runtime/facilities.hpp"
#include "kernelwright/suite/callable.hpp"
#include "kernelwright/suite/guarded_tensor.hpp"
#include "kernelwright/suite/inputs.hpp"
#include "kernelwright/suite/mapped_pages.hpp"

namespace kw::suite {

using runtime::GuardedBuffer;
using runtime::GuardedMemory;

// One request to a worker.
struct GuardedCall {
  static constexpr int kAll = -1, kNone = -2;

  std::string context, implementation, problem, fill;
  std::uint64_t seed = 1;
  CfgPins pins;
  bool at_end = true;
  int guarded = kAll;  // index of the one block at a page; the workspace comes behind the operands
};

namespace {

constexpr double kWorkerSeconds = 60;  // a context, a compilation and two calls
// Around a block that is not at a page: what a wrong access reaches is seen, and is no fault.
constexpr std::int64_t kAround = std::int64_t{2} << 20;
constexpr std::uint8_t kAroundByte = 0xc5;

std::string to_text(const GuardedCall& call) {
  return nlohmann::json{{"context", call.context}, {"implementation", call.implementation},
                        {"problem", call.problem}, {"fill", call.fill},
                        {"seed", call.seed},       {"pins", call.pins},
                        {"at_end", call.at_end},   {"guarded", call.guarded}}
      .dump();
}

GuardedCall from_text(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  return {json.at("context"), json.at("implementation"), json.at("problem"), json.at("fill"),
          json.at("seed"),    json.at("pins"),           json.at("at_end"),  json.at("guarded")};
}

// Memory of one tensor or of the workspace, on the device.
class Block {
 public:
  // `residue`: of the address, by 16.
  Block(runtime::Device& device, std::int64_t bytes, std::size_t residue, bool at_page, bool at_end)
      : device_(&device), bytes_(bytes) {
    const auto shift = static_cast<std::int64_t>(residue);
    if (at_page) {
      const auto whole =
          static_cast<std::int64_t>(guarded_bytes(static_cast<std::size_t>(bytes), residue));
      guarded_.emplace(*runtime::guarded_memory(device),
                       std::max<std::int64_t>(at_end ? whole : bytes + shift, 1),
                       at_end ? GuardedMemory::Flush::kEnd : GuardedMemory::Flush::kStart);
      data_ = guarded_->data() + (at_end ? 0 : shift);
      return;
    }
    padded_ = runtime::Buffer(device, bytes + shift + 2 * kAround);
    device.fill(padded_.data(), kAroundByte, padded_.bytes(), nullptr);
    data_ = padded_.data() + kAround + shift;
  }

  std::byte* data() const noexcept { return data_; }
  void write(const std::vector<std::byte>& bytes) const {
    device_->copy(data_, bytes.data(), static_cast<std::int64_t>(bytes.size()), nullptr);
    device_->synchronize(nullptr);
  }

  // "writes 4 bytes after the end of x"; "" where nothing around it changed, or it is at a page.
  std::string stray_write(const std::string& name) const {
    if (!padded_) return "";
    std::vector<std::byte> all(static_cast<std::size_t>(padded_.bytes()));
    device_->copy(all.data(), padded_.data(), padded_.bytes(), nullptr);
    device_->synchronize(nullptr);
    const std::int64_t begin = data_ - padded_.data();
    for (std::int64_t i = begin - 1; i >= 0; --i) {
      if (all[static_cast<std::size_t>(i)] != std::byte{kAroundByte})
        return fmt::format("writes {} bytes before {}", begin - i, name);
    }
    for (std::int64_t i = begin + bytes_; i < padded_.bytes(); ++i) {
      if (all[static_cast<std::size_t>(i)] != std::byte{kAroundByte})
        return fmt::format("writes {} bytes after the end of {}", i - begin - bytes_, name);
    }
    return "";
  }

 private:
  runtime::Device* device_;
  std::int64_t bytes_;
  std::optional<GuardedBuffer> guarded_;
  runtime::Buffer padded_;
  std::byte* data_ = nullptr;
};

class BlockWorkspace final : public WorkspaceSource {
 public:
  BlockWorkspace(const Block& block, const WorkspaceSize& size) : block_(block), size_(size) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size.bytes), std::byte{kNanPoison});
    std::fill_n(bytes.begin(), size.zeroed_bytes, std::byte{0});
    block.write(bytes);
  }
  void* take(std::int64_t bytes, std::int64_t) noexcept override {
    return bytes <= size_.bytes ? block_.data() : nullptr;
  }

 private:
  const Block& block_;
  const WorkspaceSize size_;
};

std::vector<std::string> block_names(const Problem& problem) {
  std::vector<std::string> names;
  for (const Operand& operand : operands_of(problem)) names.push_back(operand.name);
  names.emplace_back("the workspace");
  return names;
}

// In a worker.
ForkServer::Served serve(const GuardedCall& call, const Platform& platform) {
  runtime::Device& device = platform.device;
  const Problem problem = parse_problem(call.problem, platform.catalog);
  const auto [operation, implementation] =
      platform.catalog.find_implementation(call.implementation);
  if (implementation == nullptr)
    fail(Code::kNotFound, "a worker has no implementation '{}'", call.implementation);
  if (runtime::guarded_memory(device) == nullptr)
    fail(Code::kUnsupported, "{} has no memory between unmapped addresses", device.name());
  const Case spec{problem, parse_fill(call.fill), call.seed};
  PlacedTensors placed(device, problem, call.seed);
  fill_inputs(placed, spec, platform.catalog);

  std::vector<Block> blocks;
  // Ends before its memory does: work that escaped into a stream of its own ends with it.
  BoundImplementation bound(platform.catalog, device, *implementation, *operation->contract,
                            call.pins, Mode::kEager, platform.overrides);
  const WorkspaceSize size = bound.prepare(problem);
  const auto add = [&](std::int64_t bytes, std::size_t residue) -> const Block& {
    const bool at_page =
        call.guarded == GuardedCall::kAll || call.guarded == static_cast<int>(blocks.size());
    return blocks.emplace_back(device, bytes, residue, at_page, call.at_end);
  };
  std::vector<TensorView> views = placed.views();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto range = views[i].byte_range();
    const auto* const lowest = static_cast<const std::byte*>(views[i].data) + range.begin;
    std::vector<std::byte> bytes(static_cast<std::size_t>(range.end - range.begin));
    placed[i].copy_elements_to(bytes.data());
    const Block& block =
        add(range.end - range.begin, reinterpret_cast<std::uintptr_t>(lowest) % 16);
    block.write(bytes);
    views[i].data = block.data() - range.begin;
  }
  BlockWorkspace workspace(add(size.bytes, 0), size);
  bound.set_workspace(&workspace);
  const auto arguments = make_arguments(problem, views);
  std::string fault;
  try {
    static_cast<void>(bound.call(*arguments));
    device.synchronize(nullptr);
  } catch (const Error& error) {
    if (error.code() != Code::kEnvironment) throw;
    fault = error.what();
  }
  std::string write;
  const std::vector<std::string> names = block_names(problem);
  for (std::size_t i = 0; i < blocks.size() && fault.empty() && write.empty(); ++i)
    write = blocks[i].stray_write(names[i]);
  return {nlohmann::json{{"fault", fault}, {"write", write}}.dump(), !fault.empty()};
}

CheckResult failure(Reason reason, std::string message) {
  return {"pages", false, reason, std::move(message), {}};
}

}  // namespace

bool can_guard(const Problem& problem) {
  double bytes = 0;
  for (const Operand& operand : operands_of(problem)) {
    const auto range = view_of(operand.spec, nullptr).byte_range();
    bytes += static_cast<double>(range.end - range.begin);
  }
  return bytes <= kGuardedBytes;
}

DevicePages::DevicePages(Open open)
    : server_([open = std::move(open)](const std::string& request) {
        const GuardedCall call = from_text(request);
        return serve(call, open(call.context));
      }) {}

DevicePages::Outcome DevicePages::ask(const GuardedCall& call) {
  const WorkerAnswer answer = server_.ask(to_text(call), kWorkerSeconds);
  switch (answer.end) {
    case WorkerAnswer::End::kTimedOut:
      return {true, {}, {}};
    case WorkerAnswer::End::kDied:
      return {false, answer.text, {}};
    case WorkerAnswer::End::kFailed:
      fail(Code::kEnvironment, "a worker for page guards: {}", answer.text);
    case WorkerAnswer::End::kAnswered:
      break;
  }
  const auto json = nlohmann::json::parse(answer.text);
  return {false, json.at("fault"), json.at("write")};
}

std::optional<CheckResult> DevicePages::check(const Case& spec, const std::string& implementation,
                                              const CfgPins& pins) {
  GuardedCall call{context_,
                   implementation,
                   problem_text(spec.problem),
                   std::string(fill_name(spec.fill)),
                   spec.seed,
                   pins};
  for (const bool at_end : {true, false}) {
    call.at_end = at_end;
    const Outcome outcome = ask(call);
    if (outcome.timed_out) {
      return failure(Reason::kTimeout,
                     fmt::format("the call did not end in {:.0f} s", kWorkerSeconds));
    }
    if (!outcome.fault.empty()) return explain(call, block_names(spec.problem), outcome.fault);
  }
  return std::nullopt;
}

CheckResult DevicePages::explain(GuardedCall call, const std::vector<std::string>& names,
                                 const std::string& fault) {
  call.guarded = GuardedCall::kNone;
  const Outcome open = ask(call);
  if (!open.write.empty()) return failure(Reason::kOobWrite, open.write);
  if (!open.fault.empty())
    return failure(Reason::kCrash, "an access far from every tensor: " + open.fault);
  for (std::size_t i = 0; i < names.size(); ++i) {
    call.guarded = static_cast<int>(i);
    if (ask(call).fault.empty()) continue;
    return failure(
        Reason::kOobRead,
        fmt::format("reads {} {}", call.at_end ? "after the end of" : "before", names[i]));
  }
  return failure(Reason::kCrash, "a fault that does not come again: " + fault);
}

}  // namespace kw::suite
