// SPDX-License-Identifier: Apache-2.0
// One translation unit of a kernel: rendered from a Cfg, named, and identified by digests. The text
// is the specialization: nothing reaches the compiler that is not in it, in the headers or in the
// flags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/base/sha256.hpp"
#include "kernelwright/jit/fields.hpp"
#include "kernelwright/runtime/module.hpp"

namespace kw::jit {

enum class Dialect {
  kCuda,  // extern "C" __global__ void entry(const __grid_constant__ Args args)
  kHost,  // extern "C" void entry(const Args* arguments, const unsigned* grid)
};

// What does not depend on the Cfg; usually a constant of an implementation. Names are qualified.
struct KernelBody {
  Dialect dialect = Dialect::kCuda;
  std::string kernel;         // "cuda.jit.scale"
  std::string include;        // "kernelwright/ops/scale/cuda_body.cuh"
  std::string cfg_type;       // "kw::ops::scale::Cfg"
  std::string args_type;      // "kw::ops::scale::Args"
  std::string call;           // "kw::ops::scale::run<kCfg>": called with args (kHost: and grid)
  std::string launch_bounds;  // "kw::ops::scale::threads(kCfg)"; kCuda only, "" for none
};

struct Unit {
  std::string kernel;
  std::string entry;
  std::string arch;  // with suffix: "sm_90a"; of the host toolchain: "x86-64-v3"
  std::string source;
  std::string cfg;             // for people
  PlanFacts fields;            // every field of the Cfg with its value
  runtime::LaunchShape shape;  // block, cluster and shared memory; the grid is the launch's
};

// The name under which profilers show a kernel: "kw_scale_bf16_h7168_256x1". `parts` tell dtypes,
// shape and geometry. An identifier of at most 128 characters; a longer one ends in a digest.
std::string entry_name(std::string_view operation, const std::vector<std::string>& parts);

// The text of a unit. `cfg` is for people, `initializer` is C++.
std::string render(const KernelBody& body, const std::string& entry, const std::string& cfg,
                   const std::string& initializer);

template <typename Cfg>
Unit make_unit(const KernelBody& body, const Cfg& cfg, std::string entry, std::string arch,
               const runtime::LaunchShape& shape) {
  Unit unit{body.kernel, std::move(entry), std::move(arch), "", cfg_text(cfg), describe_cfg(cfg),
            shape};
  unit.source = render(body, unit.entry, unit.cfg, cfg_source(cfg));
  return unit;
}

// What a compiler is told besides source, headers and arch.
struct CompileSettings {
  std::string toolchain;           // its kind: "nvrtc"
  std::vector<std::string> flags;  // in order
  std::vector<std::string> facts;  // of the platform, where binaries depend on them
};

// Raised when the rendering, the entry file or the meaning of a digest changes.
inline constexpr int kJitSchema = 1;

// S: what is compiled. Names no compiler build, no path, no time.
Digest source_digest(const Unit& unit, const CompileSettings& settings, const Digest& headers);
// K: what is compiled by whom. `toolchain` is a digest of its binaries; `system_headers` that of
// the files outside the unit which the compiler read, zero when it reads none.
Digest binary_digest(const Digest& source, const Digest& toolchain,
                     const Digest& system_headers = {});

}  // namespace kw::jit
