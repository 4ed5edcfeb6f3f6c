// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cpu/toolchain_host.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "kernelwright/backend/cpu/cpu_features.hpp"
#include "kernelwright/backend/cpu/host_process.hpp"
#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/files.hpp"

namespace kw::jit {
namespace {

namespace fs = std::filesystem;

// Messages and depfiles must read the same under every locale and every setting of the caller's.
const std::vector<std::string> kEnvironment{"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin"};

// The psABI's levels; each adds to the one before.
struct Level {
  const char* name;
  std::vector<std::string> adds;
};
const std::vector<Level>& levels() {
  static const std::vector<Level> list{
      {"x86-64", {}},
      {"x86-64-v2", {"-mcx16", "-msahf", "-mpopcnt", "-msse3", "-mssse3", "-msse4.1", "-msse4.2"}},
      {"x86-64-v3",
       {"-mavx", "-mavx2", "-mbmi", "-mbmi2", "-mf16c", "-mfma", "-mlzcnt", "-mmovbe", "-mxsave"}},
      {"x86-64-v4", {"-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"}}};
  return list;
}

std::string native_level() {
  switch (runtime::probe_cpu(runtime::host_cpuid()).capability) {
    case 3:
      return "x86-64-v4";
    case 2:
      return "x86-64-v3";
    default:
      return "x86-64";
  }
}

std::vector<std::string> feature_flags(const std::string& arch) {
  const std::string wanted = arch == "native" ? native_level() : arch;
  std::vector<std::string> flags{"-march=x86-64"}, names{"native"};
  for (const Level& level : levels()) {
    names.emplace_back(level.name);
    flags.insert(flags.end(), level.adds.begin(), level.adds.end());
    if (wanted == level.name) return flags;
  }
  fail_text(Code::kUnsupported,
            "host toolchain: " + unknown_name_message("architecture", arch, names));
}

// A directory that nobody else can read, gone with the object.
class PrivateDirectory {
 public:
  PrivateDirectory() : path_("/tmp/kw-host-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr)
      fail(Code::kEnvironment, "cannot make a directory in /tmp");
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;
  const std::string& path() const { return path_; }

  void write(const std::string& name, const std::string& text) const {
    const fs::path file = fs::path(path_) / name;
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    std::ofstream stream(file, std::ios::binary);
    stream << text;
    if (!stream.flush()) fail(Code::kEnvironment, "cannot write {}", file.string());
  }

 private:
  std::string path_;
};

// The prerequisites of a makefile rule: blanks part them, "\ " is a blank, "\" ends a line.
std::vector<std::string> prerequisites(const std::string& rule) {
  std::vector<std::string> names;
  std::string name;
  for (std::size_t i = rule.find(": ") + 1; i < rule.size(); ++i) {
    const char c = rule[i], next = i + 1 < rule.size() ? rule[i + 1] : '\0';
    const bool escapes = c == '\\' ? next == ' ' || next == '#' : c == '$' && next == '$';
    if (escapes) {
      name += rule[++i];
    } else if (c == ' ' || c == '\n' || c == '\\') {
      if (!name.empty()) names.push_back(std::move(name));
      name.clear();
    } else {
      name += c;
    }
  }
  if (!name.empty()) names.push_back(std::move(name));
  return names;
}

std::vector<Dependency> system_headers(const std::string& depfile) {
  std::vector<Dependency> files;
  for (const std::string& name : prerequisites(depfile)) {
    if (name.front() != '/') continue;  // the unit and the bundle, which S has
    const auto bytes = read_bytes(name);
    if (!bytes) fail(Code::kEnvironment, "cannot read {}, which the compiler has just read", name);
    files.push_back({name, sha256(*bytes)});
  }
  const auto by_path = [](const Dependency& a, const Dependency& b) { return a.path < b.path; };
  std::sort(files.begin(), files.end(), by_path);
  return files;
}

}  // namespace

struct HostToolchain::Compiler {
  std::string path;  // "" when there is none
  std::vector<std::string>
      files;  // what makes the code: driver, compiler proper, assembler, linker
  std::string description;
};

HostToolchainOptions host_toolchain_options(const Environment& environment) {
  HostToolchainOptions options;
  options.compiler = environment.cxx;
  return options;
}

HostToolchain::HostToolchain(HostToolchainOptions options) : options_(std::move(options)) {}
HostToolchain::~HostToolchain() = default;

std::string HostToolchain::compiler() const {
  if (options_.compiler.find('/') != std::string::npos) return resolved_path(options_.compiler);
  const std::vector<std::string> names = options_.compiler.empty()
                                             ? std::vector<std::string>{"g++", "clang++"}
                                             : std::vector<std::string>{options_.compiler};
  for (const std::string& name : names) {
    for (const std::string& directory : options_.search) {
      // Not resolved: a compiler may go by the name that it was called by.
      std::string path = directory + "/" + name;
      if (::access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return "";
}

std::string HostToolchain::ask(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment) const {
  std::vector<std::string> all = kEnvironment;
  all.insert(all.end(), environment.begin(), environment.end());
  return run_process(arguments, all, "", options_.limit).output;
}

const HostToolchain::Compiler& HostToolchain::found() const {
  const std::lock_guard lock(mutex_);
  if (compiler_) return *compiler_;
  auto compiler = std::make_unique<Compiler>();
  compiler->path = this->compiler();
  if (!compiler->path.empty()) {
    std::vector<std::string>& files = compiler->files;
    files.push_back(resolved_path(compiler->path));
    for (const char* program : {"cc1plus", "as", "ld", "collect2"}) {
      const std::string answer = ask({compiler->path, std::string("-print-prog-name=") + program});
      files.push_back(resolved_path(std::string(trim(answer))));
    }
    // clang lives in its libraries. The loader lists them: "  libLLVM.so => /usr/lib/... (0x...)".
    for (const std::string& line :
         split(ask({compiler->path}, {"LD_TRACE_LOADED_OBJECTS=1"}), '\n')) {
      const std::size_t begin = line.find("=> /");
      const bool ours =
          line.find("LLVM") != std::string::npos || line.find("clang") != std::string::npos;
      if (begin == std::string::npos || !ours) continue;
      const std::size_t end = line.find(" (", begin);
      files.push_back(resolved_path(line.substr(begin + 3, end - begin - 3)));
    }
    std::sort(files.begin(), files.end());
    files.erase(std::unique(files.begin(), files.end()), files.end());
    std::erase(files, "");
    const std::string version = ask({compiler->path, "--version"});
    compiler->description = "host " + version.substr(0, version.find('\n'));
  }
  compiler_ = std::move(compiler);
  return *compiler_;
}

CompileSettings HostToolchain::settings(const std::string& arch) const {
  std::vector<std::string> flags{"-std=c++20", "-O3",     "-ffp-contract=off",
                                 "-fPIC",      "-shared", "-fvisibility=hidden"};
  for (std::string& flag : feature_flags(arch)) flags.push_back(std::move(flag));
  return {kind(), std::move(flags), {"x86-64 linux"}};
}

std::string HostToolchain::stamp() const {
  std::string stamp;
  for (const std::string& file : found().files) stamp += file_stamp(file) + " ";
  return stamp;
}

Digest HostToolchain::identity() {
  const Compiler& compiler = found();
  if (compiler.path.empty()) {
    fail(Code::kEnvironment,
         "host kernels need a C++20 compiler and there is no {} in {}; install g++, or set KW_CXX "
         "to one",
         options_.compiler.empty() ? "g++ or clang++" : options_.compiler, join(options_.search));
  }
  Sha256 sha;
  for (const std::string& file : compiler.files) {
    const auto bytes = read_bytes(file);
    if (!bytes) fail(Code::kEnvironment, "cannot read {}", file);
    sha.field(sha256(*bytes));
  }
  return sha.finish();
}

std::string HostToolchain::description() { return found().description; }

Binary HostToolchain::compile(const CompileJob& job) {
  const std::string path = compiler();
  if (path.empty()) identity();  // throws, with what to do
  const PrivateDirectory directory;
  directory.write("unit.cpp", job.unit.source);
  for (const auto& header : job.headers.headers)
    directory.write("include/" + header->name, header->text);
  std::vector<std::string> arguments{path};
  arguments.insert(arguments.end(), job.flags.begin(), job.flags.end());
  // Relative names: no path of this machine reaches the binary.
  for (const char* more : {"-Iinclude", "-MD", "-MF", "unit.d", "-o", "unit.so", "unit.cpp"}) {
    arguments.emplace_back(more);
  }
  std::vector<std::string> environment = kEnvironment;
  environment.push_back("TMPDIR=" + directory.path());
  const ProcessResult result =
      run_process(arguments, environment, directory.path(), options_.limit);
  if (result.timed_out) {
    fail(Code::kEnvironment, "{} took longer than {} ms for {}", path, options_.limit.count(),
         job.name);
  }
  if (result.exit_code != 0) throw CompileFailure(result.output);
  auto image = read_bytes(directory.path() + "/unit.so");
  const auto depfile = read_text(directory.path() + "/unit.d");
  constexpr char kElf[] = {0x7f, 'E', 'L', 'F'};
  if (!image || !depfile || image->size() < 64 ||
      std::memcmp(image->data(), kElf, sizeof kElf) != 0) {
    fail(Code::kEnvironment, "{} reports success for {} and leaves no shared object:\n{}", path,
         job.name, result.output);
  }
  Binary binary;
  binary.image = std::move(*image);
  binary.log = result.output;
  binary.dependencies = system_headers(*depfile);
  return binary;
}

HostToolchain& host_toolchain() {
  static HostToolchain toolchain(host_toolchain_options(environment()));
  return toolchain;
}

}  // namespace kw::jit
