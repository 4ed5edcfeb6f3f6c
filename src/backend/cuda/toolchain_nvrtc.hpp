// SPDX-License-Identifier: Apache-2.0
// CUDA units to cubin by NVRTC, opened with dlopen: no toolkit, no device and no driver needed.
// Includes no CUDA header.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/core/environment.hpp"
#include "kernelwright/jit/toolchain.hpp"

namespace kw::jit {

struct NvrtcOptions {
  std::string library;  // a file, or a directory that holds one; nothing else counts
  std::vector<std::string> python_paths;  // entries of sys.path: wheels below <path>/nvidia
  std::string cuda_path;                  // root of a toolkit
  // As cuDriverGetVersion has it, 12040 for 12.4. A compiler of a later major version is refused,
  // for the driver could not load its binaries. 0: there is no driver, anything goes.
  int driver_version = 0;
  bool search_process = true;  // what this process has loaded
  bool search_system = true;
  std::string system_root = "/usr/local";  // where the system has cuda and cuda-*
};
NvrtcOptions nvrtc_options(const Environment& environment, int driver_version = 0);

// Candidates in order: `library`; what lies beside a PyTorch that this process has loaded, or the
// libnvrtc that it has; python_paths; cuda_path; /usr/local/cuda*; the loader's search path. The
// first that fits counts; of one place the highest version. Major versions 12 and 13.
class NvrtcToolchain final : public Toolchain {
 public:
  explicit NvrtcToolchain(NvrtcOptions options);
  ~NvrtcToolchain() override;

  std::string kind() const override { return "nvrtc"; }
  CompileSettings settings(const std::string& arch) const override;
  std::string stamp() const override;
  Digest identity() override;
  std::string description() override;
  Binary compile(const CompileJob& job) override;
  std::string objection(const std::string& description) const override;

  // Path of the chosen library, "" when there is none; opens nothing.
  std::string library() const;
  // 90 for sm_90, as this build of NVRTC lists them. Opens the library.
  std::vector<int> architectures();
  // Whether the library was opened yet, by this object.
  bool opened() const;

 private:
  struct Library;
  struct Probe;

  const Probe& probe() const;
  Library& open();

  const NvrtcOptions options_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Probe> probe_;  // guarded until set
  std::unique_ptr<Library> library_;            // guarded until set
};

// What ptxas -v says of an entry.
CompileFacts parse_ptxas_log(std::string_view log, std::string_view entry);

}  // namespace kw::jit
