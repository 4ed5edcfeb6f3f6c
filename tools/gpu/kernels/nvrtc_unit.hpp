// SPDX-License-Identifier: Apache-2.0
// Renders a kernel unit (body include, constexpr Cfg, entries) and compiles it with NVRTC. Opens
// libnvrtc by dlopen, so that it also serves a machine without a GPU.
#pragma once

#include <dlfcn.h>
#include <nvrtc.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace kw::gpu_tool {

// `.field = value, ...` of the fields that differ from the default.
template <typename Cfg>
std::string rendered_fields(const Cfg& cfg) {
  std::vector<long long> defaults;
  const Cfg base{};
  auto collect = [&](const char*, const auto& value, const auto&...) {
    defaults.push_back(static_cast<long long>(value));
  };
  Cfg::visit(base, collect);
  std::string text;
  std::size_t at = 0;
  auto compare = [&](const char* name, const auto& value, const auto&...) {
    using T = std::remove_cvref_t<decltype(value)>;
    const auto number = static_cast<long long>(value);
    if (number == defaults[at++]) return;
    std::string spelled = std::to_string(number);
    if constexpr (std::is_same_v<T, bool>) spelled = number ? "true" : "false";
    if constexpr (std::is_enum_v<T>)
      spelled = "decltype(Cfg::" + std::string(name) + "){" + spelled + "}";
    text += (text.empty() ? "." : ", .") + std::string(name) + " = " + spelled;
  };
  Cfg::visit(cfg, compare);
  return text;
}

struct Unit {
  std::string cubin, log;
  double compile_ms = 0;
  int registers = 0, spill_bytes = 0, stack_bytes = 0;  // the worst entry
};

class Nvrtc {
 public:
  Nvrtc() {
    for (const char* name : {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13",
                             "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      if ((library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL)) != nullptr) break;
    }
    if (library_ == nullptr) throw std::runtime_error("no libnvrtc: set LD_LIBRARY_PATH");
  }

  // Throws with the log when the unit does not compile.
  Unit compile(const std::string& source, const std::string& arch,
               const std::string& include) const {
    const auto start = std::chrono::steady_clock::now();
    nvrtcProgram program = nullptr;
    check(call<nvrtcCreateProgram_t>("nvrtcCreateProgram")(&program, source.c_str(), "unit.cu", 0,
                                                           nullptr, nullptr),
          "nvrtcCreateProgram");
    const std::vector<std::string> options = {
        "--gpu-architecture=" + arch, "--std=c++20", "-default-device",
        "--ptxas-options=-v",         "--no-cache",  "-I" + include};
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const nvrtcResult result = call<nvrtcCompileProgram_t>("nvrtcCompileProgram")(
        program, static_cast<int>(pointers.size()), pointers.data());
    Unit unit;
    std::size_t size = 0;
    call<nvrtcSize_t>("nvrtcGetProgramLogSize")(program, &size);
    unit.log.resize(size);
    call<nvrtcText_t>("nvrtcGetProgramLog")(program, unit.log.data());
    if (result != NVRTC_SUCCESS) throw std::runtime_error(unit.log);
    check(call<nvrtcSize_t>("nvrtcGetCUBINSize")(program, &size), "nvrtcGetCUBINSize");
    unit.cubin.resize(size);
    check(call<nvrtcText_t>("nvrtcGetCUBIN")(program, unit.cubin.data()), "nvrtcGetCUBIN");
    call<nvrtcDestroy_t>("nvrtcDestroyProgram")(&program);
    unit.compile_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    read_log(unit);
    return unit;
  }

 private:
  using nvrtcCreateProgram_t = decltype(&nvrtcCreateProgram);
  using nvrtcCompileProgram_t = decltype(&nvrtcCompileProgram);
  using nvrtcSize_t = decltype(&nvrtcGetCUBINSize);
  using nvrtcText_t = decltype(&nvrtcGetCUBIN);
  using nvrtcDestroy_t = decltype(&nvrtcDestroyProgram);

  template <typename Function>
  Function call(const char* name) const {
    void* symbol = dlsym(library_, name);
    if (symbol == nullptr) throw std::runtime_error(std::string("libnvrtc lacks ") + name);
    return reinterpret_cast<Function>(symbol);
  }
  static void check(nvrtcResult result, const char* what) {
    if (result != NVRTC_SUCCESS)
      throw std::runtime_error(std::string(what) + ": NVRTC error " + std::to_string(result));
  }
  static void read_log(Unit& unit) {
    const auto worst = [&](const char* pattern, int& into) {
      for (std::size_t at = 0; (at = unit.log.find(pattern, at)) != std::string::npos; ++at) {
        std::size_t digit = at;
        while (digit > 0 && std::isdigit(static_cast<unsigned char>(unit.log[digit - 1]))) --digit;
        if (digit < at) into = std::max(into, std::stoi(unit.log.substr(digit, at - digit)));
      }
    };
    worst(" registers", unit.registers);
    worst(" bytes spill stores", unit.spill_bytes);
    worst(" bytes stack frame", unit.stack_bytes);
  }

  void* library_ = nullptr;
};

}  // namespace kw::gpu_tool
