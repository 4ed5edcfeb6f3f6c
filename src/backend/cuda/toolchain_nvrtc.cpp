// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cuda/toolchain_nvrtc.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernelwright/backend/cuda/nvrtc_probe.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/files.hpp"

namespace kw::jit {
namespace {

// The part of nvrtc.h that is used, for 12.x and 13.x alike.
using Program = struct OpaqueProgram*;
constexpr int kSuccess = 0, kErrorCompilation = 6, kErrorBuiltins = 7;

constexpr std::uint16_t kElfMachineCuda = 190;

// "sm_90a" -> 90.
int architecture_number(const std::string& arch) {
  const std::string_view digits =
      std::string_view(arch).substr(std::min<std::size_t>(3, arch.size()));
  const std::size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  const auto number = parse_integer(digits.substr(0, end));
  const bool suffix =
      end == digits.size() || digits.substr(end) == "a" || digits.substr(end) == "f";
  if (arch.compare(0, 3, "sm_") != 0 || !number || !suffix) {
    fail(Code::kInvalidArgument, "'{}' is no CUDA architecture; expected one such as sm_80, sm_90a",
         arch);
  }
  return static_cast<int>(*number);
}

// A whole ELF image for CUDA that defines the entry; anything else must never be published.
bool plausible_cubin(const std::vector<std::byte>& image, const std::string& entry) {
  constexpr char kElf[] = {0x7f, 'E', 'L', 'F'};
  if (image.size() < 64 || std::memcmp(image.data(), kElf, sizeof kElf) != 0) return false;
  std::uint16_t machine = 0;
  std::memcpy(&machine, image.data() + 18, sizeof machine);
  const std::string_view text(reinterpret_cast<const char*>(image.data()), image.size());
  return machine == kElfMachineCuda && text.find(entry) != std::string_view::npos;
}

// The number before `what` in `line`, as in "40 bytes smem".
int number_before(std::string_view line, std::string_view what, int absent) {
  const std::size_t end = line.find(what);
  if (end == std::string_view::npos) return absent;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return static_cast<int>(parse_integer(line.substr(begin, end - begin)).value_or(absent));
}

}  // namespace

struct NvrtcToolchain::Probe {
  NvrtcPlace place;
  std::string stamp;
};

struct NvrtcToolchain::Library {
  void* handle = nullptr;
  int major = 0, minor = 0;

  int (*version)(int*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*num_supported_archs)(int*) = nullptr;
  int (*supported_archs)(int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;

  template <typename Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(handle, name));
    if (function == nullptr)
      fail(Code::kEnvironment, "libnvrtc lacks {}: not a usable library", name);
  }
  void check(int result, std::string_view what) const {
    if (result != kSuccess) {
      fail(Code::kEnvironment, "NVRTC {}.{} cannot {}: {}", major, minor, what,
           error_string(result));
    }
  }
};

NvrtcOptions nvrtc_options(const Environment& environment, int driver_version) {
  NvrtcOptions options;
  options.library = environment.nvrtc;
  options.cuda_path = environment.cuda_path;
  options.driver_version = driver_version;
  return options;
}

NvrtcToolchain::NvrtcToolchain(NvrtcOptions options) : options_(std::move(options)) {}
NvrtcToolchain::~NvrtcToolchain() = default;

const NvrtcToolchain::Probe& NvrtcToolchain::probe() const {
  const std::lock_guard lock(mutex_);
  if (!probe_) probe_ = std::make_unique<const Probe>(Probe{find_nvrtc(options_), ""});
  return *probe_;
}

// Taken anew at every call: a library replaced under a running process must show.
std::string NvrtcToolchain::stamp() const {
  const NvrtcPlace& place = probe().place;
  if (place.library.empty()) return "";
  std::string stamp = file_stamp(place.library);
  for (const std::string& builtins : place.builtins) stamp += " " + file_stamp(builtins);
  return stamp;
}

std::string NvrtcToolchain::library() const { return probe().place.library; }

bool NvrtcToolchain::opened() const {
  const std::lock_guard lock(mutex_);
  return library_ != nullptr;
}

CompileSettings NvrtcToolchain::settings(const std::string& arch) const {
  architecture_number(arch);
  return {kind(), {"-std=c++20", "-default-device"}, {}};
}

NvrtcToolchain::Library& NvrtcToolchain::open() {
  const NvrtcPlace& place = probe().place;
  const std::lock_guard lock(mutex_);
  if (library_) return *library_;
  if (place.library.empty()) {
    fail(Code::kEnvironment,
         "CUDA kernels need libnvrtc.so of CUDA 12 or 13 and there is none. Looked at:\n  {}\n"
         "Install the wheel nvidia-cuda-nvrtc, or set KW_NVRTC to the library",
         join(place.tried, "\n  "));
  }
  // NVRTC opens its builtins by name at the first compile and no search path leads there; opened
  // here by path, they are found. They stay open, as does NVRTC: other threads may be inside.
  for (const std::string& builtins : place.builtins)
    ::dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto library = std::make_unique<Library>();
  library->handle = ::dlopen(place.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library->handle == nullptr) {
    fail(Code::kEnvironment, "cannot open {}: {}", place.library, ::dlerror());
  }
  library->find(library->version, "nvrtcVersion");
  library->find(library->error_string, "nvrtcGetErrorString");
  library->find(library->num_supported_archs, "nvrtcGetNumSupportedArchs");
  library->find(library->supported_archs, "nvrtcGetSupportedArchs");
  library->find(library->create, "nvrtcCreateProgram");
  library->find(library->destroy, "nvrtcDestroyProgram");
  library->find(library->compile, "nvrtcCompileProgram");
  library->find(library->log_size, "nvrtcGetProgramLogSize");
  library->find(library->log, "nvrtcGetProgramLog");
  library->find(library->cubin_size, "nvrtcGetCUBINSize");
  library->find(library->cubin, "nvrtcGetCUBIN");
  library->check(library->version(&library->major, &library->minor), "tell its version");
  library_ = std::move(library);
  return *library_;
}

Digest NvrtcToolchain::identity() {
  const NvrtcPlace& place = probe().place;
  if (place.library.empty()) open();  // throws, with the reasons
  Sha256 sha;
  std::vector<std::string> files{place.library};
  files.insert(files.end(), place.builtins.begin(), place.builtins.end());
  for (const std::string& path : files) {
    const auto bytes = read_bytes(path);
    if (!bytes) fail(Code::kEnvironment, "cannot read {}", path);
    sha.field(sha256(*bytes));
  }
  return sha.finish();
}

std::string NvrtcToolchain::description() {
  const Library& library = open();
  return fmt::format("nvrtc {}.{}", library.major, library.minor);
}

std::vector<int> NvrtcToolchain::architectures() {
  const Library& library = open();
  int count = 0;
  library.check(library.num_supported_archs(&count), "list its architectures");
  std::vector<int> list(static_cast<std::size_t>(count));
  library.check(library.supported_archs(list.data()), "list its architectures");
  return list;
}

// Binaries hold for drivers of their own major version and later ones, as compilers in the probe.
std::string NvrtcToolchain::objection(const std::string& description) const {
  if (options_.driver_version == 0) return "";
  const std::size_t number = description.find_first_of("0123456789");
  if (number == std::string::npos) return "";
  const std::string_view version = std::string_view(description).substr(number);
  const auto major = parse_integer(version.substr(0, version.find('.')));
  if (!major || *major <= options_.driver_version / 1000) return "";
  return fmt::format("made by {}, newer than the driver's CUDA {}.{}", description,
                     options_.driver_version / 1000, options_.driver_version % 1000 / 10);
}

Binary NvrtcToolchain::compile(const CompileJob& job) {
  Library& library = open();
  const std::string& arch = job.unit.arch;
  const std::vector<int> known = architectures();
  if (std::find(known.begin(), known.end(), architecture_number(arch)) == known.end()) {
    fail(Code::kUnsupported, "NVRTC {}.{} ({}) does not know {}; it has sm_{}", library.major,
         library.minor, this->library(), arch, fmt::join(known, ", sm_"));
  }

  std::vector<std::string> options = job.flags;
  options.push_back("--gpu-architecture=" + arch);
  // These change no byte of the binary, so no key has them. Since 12.9 NVRTC keeps a cache of its
  // own, which swallows what ptxas says.
  options.push_back("--ptxas-options=-v");
  if (library.major * 100 + library.minor >= 1209) options.push_back("--no-cache");
  std::vector<const char*> option_texts, texts, names;
  for (const std::string& option : options) option_texts.push_back(option.c_str());
  for (const auto& header : job.headers.headers) {
    texts.push_back(header->text.c_str());
    names.push_back(header->name.c_str());
  }

  Program created = nullptr;
  library.check(library.create(&created, job.unit.source.c_str(), job.name.c_str(),
                               static_cast<int>(texts.size()), texts.data(), names.data()),
                "create a program");
  const auto destroy = [&](Program program) { library.destroy(&program); };
  const std::unique_ptr<OpaqueProgram, decltype(destroy)> program(created, destroy);

  const int result =
      library.compile(program.get(), static_cast<int>(option_texts.size()), option_texts.data());
  Binary binary;
  std::size_t size = 0;
  if (library.log_size(program.get(), &size) == kSuccess && size > 1) {
    binary.log.resize(size);
    library.log(program.get(), binary.log.data());
    binary.log.resize(std::strlen(binary.log.c_str()));
  }
  if (result == kErrorCompilation) throw CompileFailure(binary.log);
  if (result == kErrorBuiltins) {
    fail(Code::kEnvironment,
         "NVRTC {}.{} ({}) cannot use its builtins; libnvrtc-builtins.so.{}.{} of the same release "
         "must "
         "lie beside it. It says:\n{}",
         library.major, library.minor, this->library(), library.major, library.minor, binary.log);
  }
  if (result != kSuccess) {
    fail(Code::kEnvironment, "NVRTC {}.{} fails on {} with options {}: {}\n{}", library.major,
         library.minor, job.name, join(options, " "), library.error_string(result), binary.log);
  }

  library.check(library.cubin_size(program.get(), &size), "return a cubin");
  binary.image.resize(size);
  library.check(library.cubin(program.get(), reinterpret_cast<char*>(binary.image.data())),
                "return a cubin");
  if (!plausible_cubin(binary.image, job.unit.entry)) {
    fail(Code::kInternal, "NVRTC {}.{} returned {} bytes for {} that are no cubin with that entry",
         library.major, library.minor, size, job.unit.entry);
  }
  binary.facts = parse_ptxas_log(binary.log, job.unit.entry);
  return binary;
}

CompileFacts parse_ptxas_log(std::string_view log, std::string_view entry) {
  const std::size_t begin = log.find(fmt::format("Compiling entry function '{}'", entry));
  if (begin == std::string_view::npos) return {};
  log = log.substr(begin);
  const std::size_t next = log.find("Compiling entry function", 1);
  log = log.substr(0, next);
  CompileFacts facts;
  const std::size_t properties = log.find(fmt::format("Function properties for {}", entry));
  if (properties != std::string_view::npos) {
    std::string_view line = log.substr(std::min(log.find('\n', properties) + 1, log.size()));
    line = line.substr(0, line.find('\n'));
    facts.stack_bytes = number_before(line, " bytes stack frame", -1);
    facts.spill_store_bytes = number_before(line, " bytes spill stores", -1);
    facts.spill_load_bytes = number_before(line, " bytes spill loads", -1);
  }
  const std::size_t used = log.find("Used ");
  if (used != std::string_view::npos) {
    std::string_view line = log.substr(used);
    line = line.substr(0, line.find('\n'));
    facts.registers = number_before(line, " registers", -1);
    facts.static_shared_bytes = number_before(line, " bytes smem", 0);
  }
  return facts;
}

}  // namespace kw::jit
