// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/nvrtc_probe.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/files.hpp"

namespace kw::jit {
namespace {

constexpr std::string_view kStem = "libnvrtc.so";
constexpr std::string_view kBuiltinsStem = "libnvrtc-builtins.so.";
constexpr int kMajors[] = {13, 12};  // whose interface and options this file knows

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool begins(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// 13 for libnvrtc.so.13 and libnvrtc.so.13.0.48; a link without a number is judged by its target.
std::optional<int> major_of(const std::string& path) {
  std::string name = name_of(path);
  if (name == kStem) name = name_of(resolved_path(path));
  if (!begins(name, std::string(kStem) + ".")) return std::nullopt;
  const std::string version = name.substr(kStem.size() + 1);
  const auto major = parse_integer(version.substr(0, version.find('.')));
  return major ? std::optional<int>(static_cast<int>(*major)) : std::nullopt;
}

// The numbers in a name: {12, 10} for cuda-12.10, which is later than cuda-12.9.
std::vector<std::int64_t> version_in(const std::string& name) {
  std::vector<std::int64_t> version;
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t end = std::min(name.find_first_not_of("0123456789", i), name.size());
    if (end == i) {
      ++i;
      continue;
    }
    version.push_back(parse_integer(std::string_view(name).substr(i, end - i)).value_or(0));
    i = end;
  }
  return version;
}

std::vector<std::string> newest_first(std::vector<std::string> names) {
  std::stable_sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return version_in(a) > version_in(b);
  });
  return names;
}

class Search {
 public:
  explicit Search(const NvrtcOptions& options) : options_(options) {}

  // True once a library is chosen.
  bool try_file(const std::string& where, const std::string& path) {
    const auto major = major_of(path);
    const std::string real = resolved_path(path);
    if (real.empty()) return reject(where, path + " does not exist");
    if (!major || std::find(std::begin(kMajors), std::end(kMajors), *major) == std::end(kMajors)) {
      return reject(where, path + " is of no version that is known here (12, 13)");
    }
    if (options_.driver_version != 0 && *major > options_.driver_version / 1000) {
      return reject(
          where,
          fmt::format("{} makes binaries of CUDA {}, newer than the driver's {}.{}", path, *major,
                      options_.driver_version / 1000, options_.driver_version % 1000 / 10));
    }
    place.library = real;
    place.major = *major;
    const std::string directory = directory_of(real);
    for (const std::string& name : list_directory(directory)) {
      if (begins(name, fmt::format("{}{}", kBuiltinsStem, *major))) {
        const std::string builtins = resolved_path(directory + "/" + name);
        if (std::find(place.builtins.begin(), place.builtins.end(), builtins) ==
            place.builtins.end()) {
          place.builtins.push_back(builtins);
        }
      }
    }
    return true;
  }

  bool try_directory(const std::string& where, const std::string& directory) {
    bool any = false;
    for (const int major : kMajors) {
      const std::string path = fmt::format("{}/{}.{}", directory, kStem, major);
      if (resolved_path(path).empty()) continue;
      any = true;
      if (try_file(where, path)) return true;
    }
    return any ? false : reject(where, "no libnvrtc.so.13 or .12 in " + directory);
  }

  // <root>/nvidia/cuda_nvrtc/lib and <root>/nvidia/cu13/lib, newest first.
  bool try_wheels(const std::string& where, const std::string& root) {
    bool any = false;
    for (const std::string& package : newest_first(list_directory(root + "/nvidia"))) {
      const std::string directory = root + "/nvidia/" + package + "/lib";
      for (const std::string& name : list_directory(directory)) {
        if (!begins(name, std::string(kStem) + ".")) continue;
        any = true;
        if (try_directory(where, directory)) return true;
        break;
      }
    }
    return any ? false : reject(where, "no wheel with libnvrtc below " + root + "/nvidia");
  }

  bool try_toolkit(const std::string& where, const std::string& root) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) {
      const std::string directory = root + "/" + folder;
      if (is_directory(directory) && try_directory(where, directory)) return true;
    }
    return is_directory(root) ? false : reject(where, root + " does not exist");
  }

  bool try_system() {
    const std::string& root = options_.system_root;
    if (try_toolkit("system", root + "/cuda")) return true;
    for (const std::string& name : newest_first(list_directory(root))) {
      if (begins(name, "cuda-") && try_toolkit("system", root + "/" + name)) return true;
    }
    for (const int major : kMajors) {
      const std::string name = fmt::format("{}.{}", kStem, major);
      void* handle = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
      if (handle == nullptr) continue;
      const link_map* map = nullptr;
      const bool known = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
      if (known && try_file("loader", map->l_name))
        return true;  // stays open: it is about to be used
      ::dlclose(handle);
    }
    return reject("loader", "finds neither libnvrtc.so.13 nor .12");
  }

  NvrtcPlace place;

 private:
  bool reject(const std::string& where, const std::string& why) {
    place.tried.push_back(where + ": " + why);
    return false;
  }

  const NvrtcOptions& options_;
};

// What this process has loaded: libnvrtc itself, and the directory of PyTorch's libraries.
struct Loaded {
  std::string nvrtc, torch_directory;
};

int note_loaded(dl_phdr_info* info, std::size_t, void* data) {
  auto& loaded = *static_cast<Loaded*>(data);
  const std::string path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (path.find('/') == std::string::npos) return 0;
  const std::string name = name_of(path);
  if (begins(name, std::string(kStem))) loaded.nvrtc = path;
  if (name == "libtorch_cuda.so" || name == "libtorch_cpu.so")
    loaded.torch_directory = directory_of(path);
  return 0;
}

}  // namespace

NvrtcPlace find_nvrtc(const NvrtcOptions& options) {
  Search search(options);
  if (!options.library.empty()) {
    is_directory(options.library) ? search.try_directory("KW_NVRTC", options.library)
                                  : search.try_file("KW_NVRTC", options.library);
    return search.place;
  }
  Loaded loaded;
  if (options.search_process) ::dl_iterate_phdr(note_loaded, &loaded);
  const bool found = [&] {
    // .../site-packages/torch/lib -> .../site-packages
    if (!loaded.torch_directory.empty() &&
        search.try_wheels("PyTorch", directory_of(directory_of(loaded.torch_directory)))) {
      return true;
    }
    if (!loaded.nvrtc.empty() && search.try_file("already loaded", loaded.nvrtc)) return true;
    for (const std::string& path : options.python_paths) {
      if (is_directory(path + "/nvidia") && search.try_wheels("sys.path", path)) return true;
    }
    return !options.cuda_path.empty() && search.try_toolkit("CUDA_PATH", options.cuda_path);
  }();
  if (!found && options.search_system) search.try_system();
  return search.place;
}

}  // namespace kw::jit
