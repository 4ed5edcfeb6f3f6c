// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/precompile.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "kernelwright/core/explain.hpp"

namespace kw::cli {

void Precompiler::prepare(PrecompileTask& task, Contexts& contexts) const {
  try {
    auto& context = contexts[task.device];
    if (context == nullptr) {
      context = std::make_unique<Context>(catalog_, settings_, *task.device);
    }
    const Explanation explanation = explain(*context, *task.problem);
    if (explanation.choice.is_eager()) {
      task.error = fmt::format("'{}' from {}: the model's own code, nothing to compile",
                               explanation.choice.text(), explanation.choice.origin);
      return;
    }
    task.implementation = explanation.selected;
    context->prepare(*task.problem, pins_);
  } catch (const Error& error) {
    task.error = error.what();
    if (!task.implementation.empty()) task.code = error.code();
  }
}

void Precompiler::run(std::vector<PrecompileTask>& tasks, std::size_t threads, ProgressLine& line) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;  // guards `line` and `done`
  std::size_t done = 0;
  const auto work = [&](Contexts& contexts) {
    for (std::size_t i = next++; i < tasks.size(); i = next++) {
      prepare(tasks[i], contexts);
      const std::lock_guard lock(mutex);
      line.show(fmt::format("problem {} of {}: {}", ++done, tasks.size(),
                            problem_text(*tasks[i].problem)));
    }
  };
  contexts_.resize(std::clamp<std::size_t>(threads, 1, std::max<std::size_t>(tasks.size(), 1)));
  std::vector<std::jthread> workers;
  for (std::size_t i = 1; i < contexts_.size(); ++i) {
    workers.emplace_back(work, std::ref(contexts_[i]));
  }
  work(contexts_.front());
}

}  // namespace kw::cli
