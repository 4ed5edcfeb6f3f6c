// SPDX-License-Identifier: Apache-2.0
// The problems that `check` runs: every body path, variant, dtype and layout at least once.
#pragma once

#include <optional>

#include "rms_norm_sweep.hpp"

namespace kw::gpu_tool {

struct Case {
  Problem problem;
  bool backward = false;
  std::optional<rms::CudaForwardCfg> forward_geometry;
  std::optional<rms::CudaBackwardCfg> backward_geometry;

  const rms::CudaForwardCfg* forward_pin() const {
    return forward_geometry ? &*forward_geometry : nullptr;
  }
  const rms::CudaBackwardCfg* backward_pin() const {
    return backward_geometry ? &*backward_geometry : nullptr;
  }
};

inline std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Problem p, const std::string& what, bool forward = true,
                       bool backward = true) {
    p.name = std::string(rms::kVariantNames[static_cast<int>(p.variant)]) + " " +
             rms::kElementNames[static_cast<int>(p.element)] + "/" +
             rms::kElementNames[static_cast<int>(p.weight)] + " " + std::to_string(p.x.rows()) +
             "x" + std::to_string(p.hidden) + " " + what;
    if (forward) list.push_back({p, false, {}, {}});
    p.name += " backward";
    if (backward) list.push_back({p, true, {}, {}});
  };
  const auto plain = [](long long rows, int hidden, Element element = Element::kBF16,
                        Variant variant = Variant::kStandard) {
    Problem p = plain_problem({rows, hidden}, element);
    p.variant = variant;
    return p;
  };
  constexpr Variant kVariants[] = {Variant::kStandard, Variant::kFp32, Variant::kQwen3_5,
                                   Variant::kUnweighted};
  constexpr Element kElements[] = {Element::kBF16, Element::kF16, Element::kF32};
  // Variants x dtypes x weight dtypes on a narrow and a block-wide row.
  for (const Variant variant : kVariants) {
    for (const Element element : kElements) {
      for (const Element weight : {element, Element::kF32}) {
        if (weight != element && variant == Variant::kUnweighted) continue;
        if (weight == element && element == Element::kF32 && weight != Element::kF32) continue;
        for (const auto& [rows, hidden] : {std::pair{1027LL, 128}, {67LL, 4096}}) {
          Problem p = plain(rows, hidden, element, variant);
          p.weight = weight;
          add(p, "");
        }
        if (element == Element::kF32) break;
      }
    }
  }
  // Widths, odd ones included; without rstd.
  for (const Element element : {Element::kBF16, Element::kF32}) {
    for (const int hidden :
         {1,    2,    3,    7,     8,     16,    31,    48,     64,     100,   256,
          257,  512,  513,  514,   768,   1000,  1024,  2048,   3072,   4097,  5120,
          6144, 7168, 8192, 16384, 16385, 32768, 65537, 131072, 262143, 262144}) {
      Problem p = plain(hidden > 100000  ? 5
                        : hidden > 10000 ? 23
                                         : 701,
                        hidden, element, Variant::kQwen3_5);
      p.rstd = hidden % 3 != 0;
      add(p, p.rstd ? "" : "no rstd");
    }
  }
  // Layouts.
  for (const int hidden : {128, 256, 1024, 4096}) {
    Problem p = plain(0, hidden);
    p.x = {{7, 13, 4}, {13 * 4 * 2 * hidden + 64, 4 * 2 * hidden, 2 * hidden}, 1, 0};
    p.y = p.dy = contiguous({7, 13, 4}, hidden);
    add(p, "packed projection");
    p.x = {{7, 13, 4}, {4LL * 13 * hidden, hidden, 13LL * hidden}, 1, 0};
    add(p, "transposed heads");
    p.dy = {{7, 13, 4}, {0, 0, 0}, 1, 0};
    p.y = {{7, 13, 4}, {0, hidden, 0}, 1, 0};
    p.y = contiguous({7, 13, 4}, hidden + 8);
    add(p, "one gradient row for all");
    p.dy = {{7, 13, 4}, {0, 0, 0}, 0, 0};
    add(p, "one gradient for all", false);
    p = plain(0, hidden);
    p.x = contiguous({91}, hidden, 1);
    p.y = contiguous({91}, hidden, 3);
    p.dy = contiguous({91}, hidden, 5);
    p.weight_offset = 1;
    add(p, "misaligned by 2 bytes");
    p.x = contiguous({91}, hidden, 2);
    p.y = p.dy = contiguous({91}, hidden);
    p.weight_offset = 2;
    add(p, "misaligned by 4 bytes");
    p.x = contiguous({91}, hidden, 4);
    add(p, "misaligned by 8 bytes");
    p.x = contiguous({91}, 2 * hidden, 0);
    p.x.step = 2;
    p.weight_offset = 0;
    p.weight_step = 3;
    add(p, "strided columns and weight");
    p = plain(0, hidden);
    p.x = p.y = p.dy = contiguous({0}, hidden);
    add(p, "no rows");
    p = plain(1, hidden);
    add(p, "one row");
    p = plain(300, hidden, Element::kF16, Variant::kUnweighted);
    p.x.strides = {0};
    add(p, "one row for all");
  }
  {
    Problem p = plain(0, 96, Element::kF32);
    p.x = {{3, 2, 3, 2, 2, 3, 2}, {8000, 4000, 1200, 600, 300, 100, 50000}, 1, 0};
    p.y = p.dy = contiguous(p.x.sizes, 96);
    add(p, "seven leading dimensions");
  }
  // Optional outputs.
  for (const int hidden : {128, 4096}) {
    Problem p = plain(500, hidden);
    p.want_dweight = false;
    add(p, "dx only", false);
    p.want_dweight = true;
    p.want_dx = false;
    add(p, "dweight only", false);
    p.rstd = false;
    add(p, "dweight only, no rstd", false);
    p = plain(9000, hidden);
    add(p, "many rows");
  }
  // Paths that the default geometry leaves to other devices or sizes.
  const auto pin_forward = [&](long long rows, rms::CudaForwardCfg cfg, const std::string& what) {
    Problem p = plain(rows, cfg.hidden);
    p.name = "pinned " + what;
    list.push_back({p, false, cfg, {}});
  };
  const auto pin_backward = [&](long long rows, bool rstd, rms::CudaBackwardCfg cfg,
                                const std::string& what) {
    Problem p = plain(rows, cfg.hidden);
    p.rstd = rstd;
    p.name = "pinned backward " + what;
    list.push_back({p, true, {}, cfg});
  };
  pin_forward(77, {.hidden = 4096, .threads_per_row = 1024, .reload = true}, "reload");
  pin_forward(77, {.hidden = 4096, .threads_per_row = 128, .cluster = 4}, "cluster 4");
  pin_forward(
      77, {.hidden = 7168, .threads_per_row = 96, .cluster = 2, .rows_per_block = 2, .unroll = 2},
      "cluster 2, rows 2, unroll 2");
  pin_forward(1001, {.hidden = 128, .threads_per_row = 4, .rows_per_block = 32, .unroll = 2},
              "narrow, 4 lanes");
  for (const bool rstd : {true, false}) {
    const std::string tail = rstd ? "" : ", no rstd";
    pin_backward(77, rstd, {.hidden = 4096, .threads_per_row = 1024, .reload = true, .partials = 6},
                 "reload" + tail);
    pin_backward(77, rstd, {.hidden = 4096, .threads_per_row = 128, .cluster = 4, .partials = 6},
                 "direct cluster 4" + tail);
    pin_backward(77, rstd,
                 {.hidden = 4096, .threads_per_row = 256, .prefetch = true, .partials = 6},
                 "prefetch" + tail);
    pin_backward(
        77, rstd,
        {.hidden = 4096, .threads_per_row = 128, .rows_per_block = 2, .stages = 3, .partials = 6},
        "staged, rows 2" + tail);
    pin_backward(77, rstd,
                 {.hidden = 7168,
                  .threads_per_row = 128,
                  .cluster = 2,
                  .rows_per_block = 2,
                  .stages = 2,
                  .partials = 6},
                 "staged cluster 2, rows 2" + tail);
    pin_backward(
        1001, rstd,
        {.hidden = 128, .threads_per_row = 16, .rows_per_block = 16, .stages = 3, .partials = 6},
        "staged narrow" + tail);
    pin_backward(1001, rstd,
                 {.hidden = 128,
                  .threads_per_row = 8,
                  .rows_per_block = 32,
                  .unroll = 2,
                  .prefetch = true,
                  .partials = 6},
                 "narrow, unroll 2, prefetch" + tail);
  }
  return list;
}

}  // namespace kw::gpu_tool
