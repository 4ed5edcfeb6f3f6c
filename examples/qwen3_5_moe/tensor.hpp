// SPDX-License-Identifier: Apache-2.0
// The tensor kit of the example: a reference-counted strided tensor and the few dense helpers the
// model needs. Enough for this model and no more; a real user brings a tensor library of their own.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "kernelwright/base/tensor.hpp"

namespace qwen3_5_moe {

// Copies share storage. Weights and activations are f32 throughout, indices i64: the eager bodies
// stay readable, and differences between eager and bound runs are f32 rounding alone.
class Tensor {
 public:
  Tensor() = default;
  // Contiguous; the values are undefined.
  explicit Tensor(std::span<const std::int64_t> sizes, kw::DType dtype = kw::DType::kF32);
  Tensor(std::initializer_list<std::int64_t> sizes, kw::DType dtype = kw::DType::kF32)
      : Tensor(std::span(sizes.begin(), sizes.size()), dtype) {}

  const kw::TensorView& view() const { return view_; }
  std::span<const std::int64_t> shape() const { return view_.shape(); }
  std::int64_t size(int dim) const { return view_.sizes[at(dim)]; }
  std::int64_t numel() const { return view_.numel(); }
  // Rows are the last dimension; their number is the product of all others.
  std::int64_t rows() const;

  template <typename T = float>
  T* data() {
    return static_cast<T*>(view_.data);
  }
  template <typename T = float>
  const T* data() const {
    return static_cast<const T*>(view_.data);
  }
  // First element of row `index`, in row-major order of the leading dimensions.
  template <typename T = float>
  T* row(std::int64_t index) {
    return data<T>() + row_offset(index);
  }
  template <typename T = float>
  const T* row(std::int64_t index) const {
    return data<T>() + row_offset(index);
  }

  // Views of the same storage.
  Tensor slice(int dim, std::int64_t begin, std::int64_t length) const;
  Tensor split_last(std::int64_t parts) const;  // [..., n] as [..., parts, n / parts]
  Tensor reshape(std::initializer_list<std::int64_t> sizes) const;  // of a contiguous tensor

 private:
  int at(int dim) const { return dim < 0 ? dim + view_.rank : dim; }
  std::int64_t row_offset(std::int64_t index) const {
    std::int64_t offset = 0;
    for (int i = view_.rank - 2; i > 0; --i) {
      offset += index % view_.sizes[i] * view_.strides[i];
      index /= view_.sizes[i];
    }
    return view_.rank > 1 ? offset + index * view_.strides[0] : 0;
  }

  std::shared_ptr<void> storage_;
  kw::TensorView view_;
};

// A fresh contiguous tensor of the same shape and dtype.
Tensor empty_like(const Tensor& tensor);

// y = x * weight^T over the last dimension of x; weight [out, in]. Each output is one sum in order
// of `in`, so a row's bits depend neither on the other rows nor on the number of threads.
Tensor linear(const Tensor& x, const Tensor& weight);

Tensor add(const Tensor& a, const Tensor& b);  // contiguous, same shape

inline float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }
inline float silu(float x) { return x * sigmoid(x); }
inline float softplus(float x) { return x > 20.0F ? x : std::log1p(std::exp(x)); }

// <a, b>; the lanes of the reduction are fixed at compile time.
inline float dot(const float* a, const float* b, std::int64_t n) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Softmax of `n` values in place.
void softmax(float* values, std::int64_t n);

}  // namespace qwen3_5_moe
