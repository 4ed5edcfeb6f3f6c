// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/initializer.hpp"

#include <cmath>

namespace qwen3_5_moe {
namespace {

// The finaliser of splitmix64: a bijection that mixes all bits.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t counter_hash(std::uint64_t stream, std::int64_t index) {
  return mix(stream + 0x9e3779b97f4a7c15U * (static_cast<std::uint64_t>(index) + 1));
}

}  // namespace

Tensor Initializer::normal(std::initializer_list<std::int64_t> sizes, float stddev) {
  Tensor tensor(sizes);
  const std::uint64_t stream = mix(seed_ ^ mix(++next_tensor_));
  const float scale = stddev * std::sqrt(3.0F) / 65536.0F;  // four uniforms: variance 65536^2 / 3
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const std::uint64_t h = counter_hash(stream, i);
    const auto sum = static_cast<std::int64_t>((h & 0xffffU) + ((h >> 16) & 0xffffU) +
                                               ((h >> 32) & 0xffffU) + (h >> 48));
    tensor.data()[i] = static_cast<float>(sum - 2 * 65535) * scale;
  }
  return tensor;
}

Tensor Initializer::projection(std::initializer_list<std::int64_t> sizes) {
  return normal(sizes, 1.0F / std::sqrt(static_cast<float>(sizes.end()[-1])));
}

Tensor Initializer::uniform(std::initializer_list<std::int64_t> sizes, float low, float high) {
  Tensor tensor(sizes);
  const std::uint64_t stream = mix(seed_ ^ mix(++next_tensor_));
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const auto top = static_cast<float>(counter_hash(stream, i) >> 40);  // 24 bits, exact
    tensor.data()[i] = low + (high - low) * (top * 0x1p-24F);
  }
  return tensor;
}

}  // namespace qwen3_5_moe
