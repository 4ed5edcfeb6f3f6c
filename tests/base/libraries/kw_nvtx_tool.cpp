// SPDX-License-Identifier: Apache-2.0
// An NVTX tool as a profiler has one: writes down the ranges that it is told of, and at the end of
// the process puts them into the file that RANGES_FILE names.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

struct Log {
  std::mutex mutex;
  std::string text;
  int depth = 0;

  ~Log() {
    const char* path = std::getenv("RANGES_FILE");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) return;
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }
};

Log& written() {
  static Log log;
  return log;
}

int push(const char* text) {
  Log& log = written();
  const std::lock_guard lock(log.mutex);
  log.text += std::string(static_cast<std::size_t>(2 * log.depth), ' ') + text + '\n';
  return log.depth++;
}

int pop() {
  Log& log = written();
  const std::lock_guard lock(log.mutex);
  return --log.depth;
}

// The part of nvtxTypes.h that such a tool needs.
using Function = void (*)();
struct Callbacks {
  std::size_t size;
  int (*module_functions)(int module, Function*** table, unsigned* count);
};

}  // namespace

extern "C" int InitializeInjectionNvtx2(const void* (*export_table)(unsigned)) {
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  Function** table = nullptr;
  unsigned count = 0;
  if (callbacks == nullptr || callbacks->size < sizeof(Callbacks) ||
      callbacks->module_functions(1, &table, &count) == 0 || count < 12) {
    return 0;
  }
  written();
  *table[9] = reinterpret_cast<Function>(push);
  *table[11] = reinterpret_cast<Function>(pop);
  return 1;
}

extern "C" const char* ranges_text() { return written().text.c_str(); }
