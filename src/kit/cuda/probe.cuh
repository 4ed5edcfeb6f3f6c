// SPDX-License-Identifier: Apache-2.0
// The self-test's operations on a device, in one block.
#pragma once

#include "kernelwright/kit/cuda/fill.cuh"
#include "kernelwright/kit/shared/probe.hpp"

namespace kw::kit::cuda {

struct ProbePort {
  static double load(FillType type, const void* data, i64 offset) {
    switch (type) {
      case FillType::kF64:
        return static_cast<const double*>(data)[offset];
      case FillType::kF32:
        return static_cast<const float*>(data)[offset];
      case FillType::kF16:
        return to_f32<f16>(static_cast<const unsigned short*>(data)[offset]);
      case FillType::kBF16:
        return to_f32<bf16>(static_cast<const unsigned short*>(data)[offset]);
      default:
        return static_cast<const int*>(data)[offset];  // an index
    }
  }
  static void store(FillType type, void* data, i64 offset, double value) {
    switch (type) {
      case FillType::kF64:
        return store_fill<FillType::kF64>(data, offset, value);
      case FillType::kF32:
        return store_fill<FillType::kF32>(data, offset, value);
      case FillType::kF16:
        return store_fill<FillType::kF16>(data, offset, value);
      default:
        return store_fill<FillType::kBF16>(data, offset, value);
    }
  }
  static double rounded(FillType type, double value) {
    u64 word = 0;
    store(type, &word, 0, value);
    return load(type, &word, 0);
  }
  static int thread() { return static_cast<int>(threadIdx.x); }
  static int threads() { return static_cast<int>(blockDim.x); }
  static void barrier() { __syncthreads(); }
};

template <ProbeCfg kCfg>
void probe(const ProbeArgs& args) {
  run_probe(kCfg, args, ProbePort{});
}

}  // namespace kw::kit::cuda
