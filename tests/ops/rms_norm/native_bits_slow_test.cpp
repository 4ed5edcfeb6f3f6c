// SPDX-License-Identifier: Apache-2.0
// Bits of the CPU kernels do not depend on threads, position, batch, strides or alignment.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ops/rms_norm/support/native_calls.hpp"

namespace kw::ops::rms_norm::native {
namespace {

class NativeBits : public NativeKernels {
 protected:
  void check_layouts(const Case& c, std::int64_t hidden) const;
};

void NativeBits::check_layouts(const Case& c, std::int64_t hidden) const {
  struct Layout {
    Shape sizes, strides;
    std::int64_t lead;
  };
  const std::int64_t pitch = hidden + 67;
  // Sizes [3, 2, 5, hidden]: contiguous first; misaligned, pitched, permuted, every other element.
  const std::vector<Layout> layouts = {
      {{3, 2, 5, hidden}, {10 * hidden, 5 * hidden, hidden, 1}, 0},
      {{3, 2, 5, hidden}, {10 * hidden, 5 * hidden, hidden, 1}, 1},
      {{3, 2, 5, hidden}, {10 * pitch, 5 * pitch, pitch, 1}, 3},
      {{3, 2, 5, hidden}, {10 * pitch, pitch, 2 * pitch, 1}, 0},
      {{3, 2, 5, hidden}, {20 * hidden, 10 * hidden, 2 * hidden, 2}, 1},
      {{3, 2, 5, hidden}, {5, 15, 1, 30}, 0}};
  std::vector<std::uint8_t> y_bits, dx_bits, dweight_bits;
  for (const Layout& in : layouts) {
    for (const Layout& out : layouts) {
      if (&in != &layouts[0] && &out != &layouts[0] && &in != &out) continue;
      Tensor x(c.x, in.sizes, in.strides, in.lead), dy(c.x, in.sizes, in.strides, in.lead),
          y(c.x, out.sizes, out.strides, out.lead), dx(c.x, out.sizes, out.strides, out.lead),
          w(c.weight, {hidden}, {in.lead + 1}, in.lead),
          dweight(c.weight, {hidden}, {out.lead + 1});
      Operands::fill(x, dy, w);
      run(forward_call(c, x, w, y));
      run(Backward(c, dy, x, w, nullptr, &dx, &dweight).call);
      if (y_bits.empty()) {
        y_bits = y.bits();
        dx_bits = dx.bits();
        dweight_bits = dweight.bits();
      }
      ASSERT_EQ(y.bits(), y_bits) << text(c, 30, hidden);
      ASSERT_EQ(dx.bits(), dx_bits) << text(c, 30, hidden);
      ASSERT_EQ(dweight.bits(), dweight_bits) << text(c, 30, hidden);
      EXPECT_TRUE(y.surroundings_untouched());
      EXPECT_TRUE(dx.surroundings_untouched());
      EXPECT_TRUE(dweight.surroundings_untouched());
    }
  }
}

// Widths: narrow, narrow in whole blocks, within one tile, a whole one, more than one.
TEST_P(NativeBits, StridesAndAlignmentDoNotChangeBits) {
  for (const std::int64_t hidden : {60, 96, 1024, 1100}) {
    for (const Case& c : all_cases()) check_layouts(c, hidden);
  }
}

// The larger sizes exceed most last-level caches, so that stores bypass them; odd rows misalign
// them. 160 columns are an odd number of blocks.
TEST_P(NativeBits, BitsDoNotDependOnThreadsOrBatch) {
  const Case narrow{DType::kBF16, DType::kBF16, Variant::kStandard};
  const Case wide{DType::kF32, DType::kF32, Variant::kFp32};
  struct Size {
    Case c;
    std::int64_t rows, hidden;
  };
  for (const auto& [c, rows, hidden] :
       {Size{wide, 1000, 136}, Size{narrow, 77, 4096}, Size{narrow, 12000, 1024},
        Size{narrow, 90001, 129}, Size{narrow, 90001, 160}}) {
    SCOPED_TRACE(text(c, rows, hidden));
    Operands o(c, rows, hidden);
    const auto bytes = [](const Tensor& t) {  // of a contiguous tensor
      const auto* begin = static_cast<const char*>(t.view.data);
      return std::string(begin, begin + t.view.byte_range().end);
    };
    std::string y_bits, dx_bits, dweight_bits;
    for (const int threads : {1, 2, 5}) {
      run(o.forward(threads));
      run(o.backward(threads).call);
      if (threads == 1) {
        y_bits = bytes(o.y);
        dx_bits = bytes(o.dx);
        dweight_bits = bytes(o.dweight);
      }
      EXPECT_TRUE(bytes(o.y) == y_bits && bytes(o.dx) == dx_bits) << threads;
      EXPECT_EQ(bytes(o.dweight), dweight_bits) << threads;
    }
    const std::size_t row_bytes = y_bits.size() / static_cast<std::size_t>(rows);
    for (const std::int64_t row : {std::int64_t{0}, rows / 2 + 1, rows - 1}) {
      Tensor one(c.x, {hidden}), dy_one(c.x, {hidden}), y_one(c.x, {hidden}), dx_one(c.x, {hidden});
      std::memcpy(one.view.data, o.x.at(row, 0), row_bytes);
      std::memcpy(dy_one.view.data, o.dy.at(row, 0), row_bytes);
      run(forward_call(c, one, o.w, y_one));
      run(Backward(c, dy_one, one, o.w, nullptr, &dx_one, nullptr).call);
      EXPECT_EQ(0, std::memcmp(y_one.view.data, o.y.at(row, 0), row_bytes));
      EXPECT_EQ(0, std::memcmp(dx_one.view.data, o.dx.at(row, 0), row_bytes));
    }
    EXPECT_TRUE(o.y.surroundings_untouched());
    EXPECT_TRUE(o.dx.surroundings_untouched());
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, NativeBits, testing::Values(Isa::kAvx2, Isa::kAvx512), isa_name);

}  // namespace
}  // namespace kw::ops::rms_norm::native
