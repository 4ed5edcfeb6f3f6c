// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/log.hpp"

#include <atomic>
#include <memory>
#include <mutex>

namespace kw {
namespace {

std::mutex sink_mutex;
std::shared_ptr<const LogSink> installed_sink;  // guarded by sink_mutex
std::atomic<int> installed_threshold{static_cast<int>(LogLevel::kError) + 1};

}  // namespace

std::string_view log_level_name(LogLevel level) noexcept {
  constexpr std::string_view kNames[] = {"debug", "info", "warning", "error"};
  return kNames[static_cast<int>(level)];
}

void set_log_sink(LogSink sink, LogLevel threshold) {
  const std::lock_guard lock(sink_mutex);
  installed_threshold = sink ? static_cast<int>(threshold) : static_cast<int>(LogLevel::kError) + 1;
  installed_sink = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
}

void log(LogLevel level, std::string_view category, std::string_view text) noexcept {
  if (static_cast<int>(level) < installed_threshold.load(std::memory_order_relaxed)) return;
  std::shared_ptr<const LogSink> sink;
  {
    const std::lock_guard lock(sink_mutex);
    sink = installed_sink;
  }
  if (!sink) return;
  try {
    (*sink)(level, category, text);
  } catch (...) {
    // A failing sink must not change what the library does.
  }
}

}  // namespace kw
