// SPDX-License-Identifier: Apache-2.0
// Whether a captured call is all there, and answers for what its memory holds at each replay.
#include <algorithm>

#include <fmt/core.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/suite/checks/class_checks.hpp"

namespace kw::suite {
namespace {

using runtime::Capture;
using runtime::Graph;
using runtime::OwnedStream;

constexpr std::size_t kManyCalls = 64;
constexpr double kManyBytes = 128e6;

// Null, with `why`, when the capture failed.
std::unique_ptr<Graph> capture_call(runtime::Device& device, void* stream, Callable& callable,
                                    const Arguments& arguments, std::string& why) {
  try {
    Capture capture(device, stream);
    if (!callable.call_on(arguments, stream)) {
      why = last_message();
      return nullptr;
    }
    return capture.finish();
  } catch (const Error& error) {
    why = error.what();
    return nullptr;
  }
}

}  // namespace

void ClassChecks::capture() {
  expected(0);
  expected(1);
  CallSet& calls = set(0);
  const OwnedStream stream(device_);
  callable_.reserve(stream.handle());
  calls.produce(stream.handle());
  stream.synchronize();
  std::string why;
  const auto graph = capture_call(device_, stream.handle(), callable_, calls.arguments(), why);
  if (graph == nullptr) return reject("capture", Reason::kCaptureFailed, why);
  if (graph->nodes().allocations > 0)
    return reject("capture", Reason::kCaptureFailed, "the graph allocates memory");
  calls.renew_arguments();  // a graph has no need of the host's objects
  const auto replay = [&](std::size_t i) {
    calls.spoil(stream.handle());
    calls.produce(stream.handle(), set(i));
    graph->launch(stream.handle());
    stream.synchronize();
    return calls.current();
  };
  if (!right(0, replay(0))) {
    reject("capture", Reason::kCaptureDroppedWork,
           "eager calls are right, the replay of a captured one is not");
  } else if (!right(1, replay(1))) {
    reject("capture", Reason::kStaleReplay,
           "right when captured, wrong when replayed after its inputs changed in place");
  } else {
    pass("capture");
  }
}

// The result of every call is set aside within the graph, so that none can hide behind another.
void ClassChecks::graph_of_many() {
  double bytes = 1;
  for (const GuardedTensor& tensor : set(0).target().tensors())
    bytes += static_cast<double>(tensor.memory().bytes());
  const auto count = static_cast<std::size_t>(
      std::clamp(kManyBytes / bytes, 2.0, static_cast<double>(kManyCalls)));
  expected(0);
  expected(1);
  const OwnedStream stream(device_);
  callable_.reserve(stream.handle());
  std::vector<std::vector<runtime::Buffer>> results(count);
  for (std::size_t n = 0; n < count; ++n) {
    for (const GuardedTensor& tensor : set(n % 2).target().tensors())
      results[n].emplace_back(device_, tensor.memory().bytes());
  }
  std::unique_ptr<Graph> graph;
  try {
    Capture capture(device_, stream.handle());
    for (std::size_t n = 0; n < count; ++n) {
      CallSet& calls = set(n % 2);
      calls.produce(stream.handle());
      throw_if_failed(callable_.call_on(calls.arguments(), stream.handle()));
      for (std::size_t i = 0; i < results[n].size(); ++i)
        device_.copy(results[n][i].data(), calls.target()[i].memory().data(), results[n][i].bytes(),
                     stream.handle());
    }
    graph = capture.finish();
  } catch (const Error& error) {
    return reject("graph_of_many", Reason::kCaptureFailed, error.what());
  }
  graph->launch(stream.handle());
  stream.synchronize();
  for (std::size_t n = 0; n < count; ++n) {
    CallSet& calls = set(n % 2);
    for (std::size_t i = 0; i < results[n].size(); ++i)
      device_.copy(calls.aside()[i].memory().data(), results[n][i].data(), results[n][i].bytes(),
                   nullptr);
    device_.synchronize(nullptr);
    if (right(n % 2, calls.consumed())) continue;
    return reject("graph_of_many", Reason::kGraphCallDropped,
                  fmt::format("call {} of {} in one graph is wrong", n + 1, count));
  }
  pass("graph_of_many");
}

// Two graphs in one workspace, in turns.
void ClassChecks::interleaved_graphs() {
  const OwnedStream stream(device_);
  callable_.reserve(stream.handle());
  std::unique_ptr<Graph> graphs[2];
  for (std::size_t i = 0; i < 2; ++i) {
    expected(i);
    std::string why;
    graphs[i] = capture_call(device_, stream.handle(), callable_, set(i).arguments(), why);
    if (graphs[i] == nullptr) return reject("interleaved_graphs", Reason::kCaptureFailed, why);
  }
  for (const std::size_t first : {0UL, 1UL}) {
    for (const std::size_t i : {first, 1 - first}) {
      set(i).produce(stream.handle());
      graphs[i]->launch(stream.handle());
    }
    stream.synchronize();
    for (std::size_t i = 0; i < 2; ++i) {
      if (right(i, set(i).current())) continue;
      return reject("interleaved_graphs", Reason::kStaleReplay,
                    "two graphs of equal calls disturb each other");
    }
  }
  pass("interleaved_graphs");
}

// Prepared, and the very first launch is a captured one: nothing may be left to make.
void ClassChecks::lazy_state() {
  const auto anew = callable_.bind_again(device_);
  if (anew == nullptr) return;
  expected(0);
  CallSet& calls = set(0);
  const OwnedStream stream(device_);
  anew->prepare(problem_);
  anew->reserve(stream.handle());
  std::string why;
  const auto graph = capture_call(device_, stream.handle(), *anew, calls.arguments(), why);
  if (graph == nullptr) {
    return reject("lazy_state", Reason::kLazyInit,
                  "prepared, but its first launch cannot be captured: " + why);
  }
  calls.produce(stream.handle());
  graph->launch(stream.handle());
  stream.synchronize();
  if (!right(0, calls.current()))
    return reject("lazy_state", Reason::kLazyInit, "wrong when its first launch is a captured one");
  pass("lazy_state");
}

}  // namespace kw::suite
