// SPDX-License-Identifier: Apache-2.0
// What a context owns besides its selection. Private to core.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "kernelwright/core/binding.hpp"

namespace kw {

struct Context::State {
  std::mutex mutex;  // guards `bindings`
  std::map<const OperationBinding*, std::unique_ptr<Binding>> bindings;
  std::atomic<std::uint64_t> plans_built{0}, problems_prepared{0}, misses{0}, not_prepared{0};
};

}  // namespace kw
