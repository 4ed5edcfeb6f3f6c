// SPDX-License-Identifier: Apache-2.0
// The client side of NVTX 3, which its headers put into every program that includes them: the
// tool's InitializeInjectionNvtx2 asks for a table of the places where the functions of a module
// are kept, and writes its own into those that it serves. Numbers and layouts are those of
// nvtxTypes.h; they are permanent. Done here, the library needs no toolkit to build and has one
// copy of the state.
#include "kernelwright/base/ranges.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

namespace kw {
namespace {

using Function = void (*)();

// Functions of each module, the unused number 0 included: none, core, CUDA, OpenCL, the CUDA
// runtime, core with domains, synchronisation.
constexpr unsigned kFunctions[] = {0, 16, 9, 15, 7, 16, 7};
constexpr int kCoreModule = 1;
constexpr int kPush = 9, kPop = 11;  // of char text
constexpr std::uint32_t kCallbacks = 1, kVersionInfo = 3;

std::array<std::array<Function, 16>, std::size(kFunctions)> functions;
std::array<std::array<Function*, 17>, std::size(kFunctions)> places;  // end with a null

struct CallbackTable {
  std::size_t size;
  int (*module_functions)(int module, Function*** table, unsigned* count);
};
struct VersionTable {
  std::size_t size;
  std::uint32_t version, reserved;
  void (*set_tool_version)(std::uint32_t);
};

int module_functions(int module, Function*** table, unsigned* count) {
  if (module <= 0 || module >= static_cast<int>(std::size(kFunctions))) return 0;
  const auto m = static_cast<std::size_t>(module);
  if (table != nullptr) *table = places[m].data();
  if (count != nullptr) *count = kFunctions[m];
  return 1;
}

constexpr CallbackTable kCallbackTable{sizeof(CallbackTable), module_functions};
constexpr VersionTable kVersionTable{sizeof(VersionTable), 3, 0, [](std::uint32_t) {}};

const void* export_table(std::uint32_t id) {
  return id == kCallbacks     ? static_cast<const void*>(&kCallbackTable)
         : id == kVersionInfo ? &kVersionTable
                              : nullptr;
}

// The function of char text `number` of the core module, as the tool has it now: it may come to
// want ranges, and cease to, at any time.
template <typename Type>
Type core_function(int number) {
  Function& place = functions[kCoreModule][static_cast<std::size_t>(number)];
  return reinterpret_cast<Type>(std::atomic_ref(place).load(std::memory_order_relaxed));
}

std::string load_tool(const std::string& library) {
  for (std::size_t m = 0; m < places.size(); ++m) {
    for (unsigned f = 1; f < kFunctions[m]; ++f) places[m][f] = &functions[m][f];
  }
  void* handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);  // stays: it may have threads
  if (handle == nullptr) return ::dlerror();
  using Initialize = int (*)(const void* (*)(std::uint32_t));
  const auto initialize = reinterpret_cast<Initialize>(::dlsym(handle, "InitializeInjectionNvtx2"));
  if (initialize == nullptr) return library + " is no NVTX tool: it lacks InitializeInjectionNvtx2";
  return initialize(export_table) == 0 ? library + " does not start" : "";
}

}  // namespace

constinit std::atomic<bool> Range::attached_{false};

std::string attach_range_tool(const std::string& library) {
  static const std::string why = load_tool(library);
  if (why.empty()) Range::attached_.store(true, std::memory_order_release);
  return why;
}

bool Range::push(std::string_view verb, std::string_view what, std::string_view part) noexcept {
  const auto tell = core_function<int (*)(const char*)>(kPush);
  if (tell == nullptr) return false;
  std::array<char, 192> text;  // a name that is longer is cut: names of operations are not
  const auto end = fmt::format_to_n(text.data(), text.size() - 1, "kw {} {}{}{}", verb, what,
                                    part.empty() ? "" : "/", part);
  text[std::min(end.size, text.size() - 1)] = '\0';
  tell(text.data());
  return true;
}

void Range::pop() noexcept {
  if (const auto tell = core_function<int (*)()>(kPop)) tell();
}

}  // namespace kw
