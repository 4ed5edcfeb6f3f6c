// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/tensor.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

namespace qwen3_5_moe {
namespace {

constexpr std::align_val_t kAlignment{64};

// A tile of the matrix product: kTileRows x kTileColumns sums fit the 16 SSE registers of plain
// x86-64.
constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kTileColumns = 8;

template <std::int64_t kRows>
void multiply_tile(const float* const* x, const float* panel, std::int64_t in, float* const* y,
                   std::int64_t columns) {
  float sum[kRows][kTileColumns] = {};
  for (std::int64_t k = 0; k < in; ++k) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const float value = x[i][k];
#pragma omp simd
      for (std::int64_t j = 0; j < kTileColumns; ++j) {
        sum[i][j] += value * panel[k * kTileColumns + j];
      }
    }
  }
  for (std::int64_t i = 0; i < kRows; ++i) std::copy_n(sum[i], columns, y[i]);
}

}  // namespace

Tensor::Tensor(std::span<const std::int64_t> sizes, kw::DType dtype)
    : view_(nullptr, dtype, sizes) {
  const auto bytes = static_cast<std::size_t>(view_.numel()) * kw::dtype_bytes(dtype);
  storage_ = std::shared_ptr<void>(::operator new(bytes, kAlignment),
                                   [](void* p) { ::operator delete(p, kAlignment); });
  view_.data = storage_.get();
}

std::int64_t Tensor::rows() const {
  std::int64_t count = 1;
  for (int i = 0; i + 1 < view_.rank; ++i) count *= view_.sizes[i];
  return count;
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t length) const {
  const int i = at(dim);
  if (begin < 0 || length < 0 || begin + length > view_.sizes[i]) {
    throw std::out_of_range("slice leaves the tensor");
  }
  Tensor part = *this;
  part.view_.data =
      static_cast<char*>(view_.data) +
      begin * view_.strides[i] * static_cast<std::int64_t>(kw::dtype_bytes(view_.dtype));
  part.view_.sizes[i] = length;
  return part;
}

Tensor Tensor::split_last(std::int64_t parts) const {
  const int last = view_.rank - 1;
  if (view_.sizes[last] % parts != 0) throw std::invalid_argument("split_last leaves a remainder");
  Tensor split = *this;
  ++split.view_.rank;
  split.view_.sizes[last] = parts;
  split.view_.sizes[last + 1] = view_.sizes[last] / parts;
  split.view_.strides[last] = split.view_.sizes[last + 1] * view_.strides[last];
  split.view_.strides[last + 1] = view_.strides[last];
  return split;
}

Tensor Tensor::reshape(std::initializer_list<std::int64_t> sizes) const {
  Tensor other = *this;
  other.view_ = kw::TensorView(view_.data, view_.dtype, sizes);
  if (!view_.contiguous() || other.numel() != numel()) {
    throw std::invalid_argument("reshape needs a contiguous tensor and keeps the element count");
  }
  return other;
}

Tensor empty_like(const Tensor& tensor) { return Tensor(tensor.shape(), tensor.view().dtype); }

Tensor linear(const Tensor& x, const Tensor& weight) {
  const std::int64_t rows = x.rows(), in = weight.size(1), out = weight.size(0);
  Tensor y({rows, out});
  // A thread transposes one panel of the weight and streams all rows of x past it.
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t first = 0; first < out; first += kTileColumns) {
    const std::int64_t columns = std::min(kTileColumns, out - first);
    std::vector<float> panel(static_cast<std::size_t>(in * kTileColumns));
    for (std::int64_t j = 0; j < columns; ++j) {
      const float* w = weight.row(first + j);
      for (std::int64_t k = 0; k < in; ++k) panel[k * kTileColumns + j] = w[k];
    }
    for (std::int64_t r = 0; r < rows; r += kTileRows) {
      const float* source[kTileRows];
      float* target[kTileRows];
      const std::int64_t count = std::min(kTileRows, rows - r);
      for (std::int64_t i = 0; i < count; ++i) {
        source[i] = x.row(r + i);
        target[i] = y.row(r + i) + first;
      }
      if (count == kTileRows) {
        multiply_tile<kTileRows>(source, panel.data(), in, target, columns);
        continue;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        multiply_tile<1>(source + i, panel.data(), in, target + i, columns);
      }
    }
  }
  return y;
}

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor sum = empty_like(a);
  const std::int64_t n = a.numel();
  const float* pa = a.data();
  const float* pb = b.data();
  float* ps = sum.data();
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < n; ++i) ps[i] = pa[i] + pb[i];
  return sum;
}

void softmax(float* values, std::int64_t n) {
  const float largest = *std::max_element(values, values + n);
  float sum = 0.0F;
  for (std::int64_t i = 0; i < n; ++i) sum += values[i] = std::exp(values[i] - largest);
  for (std::int64_t i = 0; i < n; ++i) values[i] /= sum;
}

}  // namespace qwen3_5_moe
