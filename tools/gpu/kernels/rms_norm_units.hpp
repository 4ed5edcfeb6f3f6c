// SPDX-License-Identifier: Apache-2.0
// The units of rms_norm: source text of a Cfg, entry names, and the geometries that the tool
// sweeps.
#pragma once

#include <string>
#include <vector>

#include "kernelwright/ops/rms_norm/cfg.hpp"
#include "nvrtc_unit.hpp"

namespace kw::gpu_tool {

namespace rms = kw::ops::rms_norm;

inline std::string preamble(const char* type, const std::string& fields) {
  return std::string(
             "#include \"kernelwright/ops/rms_norm/cuda_body.cuh\"\n"
             "namespace kw::ops::rms_norm {\nusing Cfg = ") +
         type + ";\nconstexpr Cfg kCfg = {" + fields + "};\n}\n";
}

inline std::string forward_source(const rms::CudaForwardCfg& cfg) {
  return preamble("CudaForwardCfg", rendered_fields(cfg)) +
         "using namespace kw::ops::rms_norm;\n"
         "extern \"C\" __global__ void __launch_bounds__(block_threads(kCfg), kCfg.min_blocks)\n"
         "rms_norm(const __grid_constant__ CudaForwardArgs args) { cuda::forward<kCfg>(args); }\n";
}

inline std::string backward_source(const rms::CudaBackwardCfg& cfg) {
  std::string text =
      preamble("CudaBackwardCfg", rendered_fields(cfg)) +
      "using namespace kw::ops::rms_norm;\n"
      "extern \"C\" __global__ void __launch_bounds__(block_threads(kCfg), kCfg.min_blocks)\n"
      "rms_norm_backward(const __grid_constant__ CudaBackwardArgs args) { "
      "cuda::backward<kCfg>(args); }\n";
  if (cfg.want_dweight) {
    text +=
        "extern \"C\" __global__ void __launch_bounds__(kReduceThreads)\n"
        "rms_norm_dweight(const __grid_constant__ CudaBackwardArgs args) { "
        "cuda::reduce_dweight<kCfg>(args); }\n";
  }
  return text;
}

}  // namespace kw::gpu_tool
