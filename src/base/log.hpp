// SPDX-License-Identifier: Apache-2.0
// The library's only way to say something: a sink that the program installs. Without one, nothing
// is said. Lines of decisions are machine readable:
// "kw,select,<operation>,<implementation>,<reason>".
#pragma once

#include <functional>
#include <string_view>

namespace kw {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3 };
std::string_view log_level_name(LogLevel level) noexcept;

using LogSink =
    std::function<void(LogLevel level, std::string_view category, std::string_view text)>;

// Replaces the sink; lines below `threshold` are dropped. Callable at any time, from any thread.
void set_log_sink(LogSink sink, LogLevel threshold = LogLevel::kWarning);
void log(LogLevel level, std::string_view category, std::string_view text) noexcept;

}  // namespace kw
