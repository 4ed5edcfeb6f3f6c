// SPDX-License-Identifier: Apache-2.0
// Runs one problem on the device and compares every output with a double reference.
#pragma once

#include "rms_norm_problem.hpp"

namespace kw::gpu_tool {

struct Outcome {
  bool good = false;
  std::string text;  // worst distances, or what is wrong
};

struct Tools {
  const Driver& driver;
  const Nvrtc& nvrtc;
  std::string arch, include;
  rms::CudaLimits limits;
};

// The knobs of a Cfg that are not at rest: "T256 S3 B2 ld1".
template <typename Cfg>
std::string geometry_text(const Cfg& cfg) {
  [[maybe_unused]] static constexpr const char* kShort[][2] = {
      {"threads_per_row", "T"}, {"cluster", "K"}, {"reload", "reload"}, {"rows_per_block", "R"},
      {"unroll", "U"},          {"stages", "S"},  {"prefetch", "pre"},  {"min_blocks", "B"},
      {"partials", "P"},        {"load", "ld"},   {"store", "st"}};
  std::string text;
  auto add = [&](const char* name, const auto& value, const auto&...) {
    for (const auto& [full, shown] : kShort) {
      const auto number = static_cast<long long>(value);
      const bool policy = std::string(shown) == "ld" || std::string(shown) == "st";
      const bool at_rest =
          number == 0 ||
          (number == 1 && !std::is_same_v<std::remove_cvref_t<decltype(value)>, bool> && !policy);
      if (std::string(name) != full || (at_rest && std::string(shown) != "T")) continue;
      text += (text.empty() ? "" : " ") + std::string(shown);
      if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>)
        text += std::to_string(number);
    }
  };
  Cfg::visit(cfg, add);
  return text;
}

struct ForwardCall {
  rms::CudaForwardArgs args{};
  int leading = 1;
};

inline ForwardCall forward_call(const Problem& p) {
  ForwardCall call;
  const Layout rstd = contiguous(p.x.sizes, 1);
  const long long* const strides[3] = {p.x.strides.data(), p.y.strides.data(), rstd.strides.data()};
  kit::RowStrides rows[3];
  call.leading = kit::collapse_rows<3>(static_cast<int>(p.x.sizes.size()), p.x.sizes.data(),
                                       strides, call.args.map, rows);
  call.args.x_rows = rows[0];
  call.args.y_rows = rows[1];
  call.args.rstd_rows = rows[2];
  call.args.rows = p.x.rows();
  call.args.x_step = p.x.step;
  call.args.y_step = p.y.step;
  call.args.weight_step = p.weight_step;
  call.args.eps = static_cast<float>(p.eps);
  return call;
}

struct BackwardCall {
  rms::CudaBackwardArgs args{};
  int leading = 1;
};

inline BackwardCall backward_call(const Problem& p) {
  BackwardCall call;
  const Layout rstd = contiguous(p.x.sizes, 1);
  const long long* const strides[4] = {p.dy.strides.data(), p.x.strides.data(), rstd.strides.data(),
                                       p.y.strides.data()};
  kit::RowStrides rows[4];
  call.leading = kit::collapse_rows<4>(static_cast<int>(p.x.sizes.size()), p.x.sizes.data(),
                                       strides, call.args.map, rows);
  call.args.dy_rows = rows[0];
  call.args.x_rows = rows[1];
  call.args.rstd_rows = rows[2];
  call.args.dx_rows = rows[3];
  call.args.rows = p.x.rows();
  call.args.dy_step = p.dy.step;
  call.args.x_step = p.x.step;
  call.args.weight_step = p.weight_step;
  call.args.dx_step = p.y.step;
  call.args.dweight_step = 1;
  call.args.eps = static_cast<float>(p.eps);
  return call;
}

inline Launch forward_launch(const Module& module, const rms::CudaForwardCfg& cfg, long long rows) {
  return {module.function("rms_norm", 0, cfg.cluster), rms::forward_grid(cfg, rows),
          rms::block_threads(cfg), 0, cfg.cluster};
}
inline Launch backward_launch(const Module& module, const rms::CudaBackwardCfg& cfg,
                              long long rows) {
  const int shared = rms::backward_shared_bytes(cfg);
  return {module.function("rms_norm_backward", shared, cfg.cluster), rms::backward_grid(cfg, rows),
          rms::block_threads(cfg), shared, cfg.cluster};
}
inline Launch reduce_launch(const Module& module, const rms::CudaBackwardCfg& cfg) {
  return {module.function("rms_norm_dweight", 0, 1), rms::reduce_grid(cfg), rms::kReduceThreads, 0,
          1};
}

// Rows that are compared: all of a small problem, else a spread that includes both ends.
inline std::vector<long long> sampled_rows(long long rows, int hidden, long long most) {
  const long long count = std::min(rows, std::max<long long>(most / hidden, 8));
  std::vector<long long> list;
  for (long long i = 0; i < count; ++i)
    list.push_back(
        count == 1 ? 0
                   : static_cast<long long>(static_cast<double>(i) * static_cast<double>(rows - 1) /
                                            static_cast<double>(count - 1)));
  return list;
}

inline double reference_rstd(const Problem& p, const void* x, long long row) {
  const long long at = p.x.row_at(row);
  double sum = 0;
  for (int c = 0; c < p.hidden; ++c) {
    const double value = load_element(p.element, x, at + c * p.x.step);
    sum += value * value;
  }
  return 1 / std::sqrt(sum / p.hidden + p.eps);
}

inline std::vector<double> weights_of(const Problem& p, const void* weight) {
  std::vector<double> list(static_cast<std::size_t>(p.hidden), 1.0);
  if (!p.weighted()) return list;
  for (int c = 0; c < p.hidden; ++c) {
    list[static_cast<std::size_t>(c)] =
        load_element(p.weight, weight, p.weight_offset + c * p.weight_step) +
        (p.variant == Variant::kQwen3_5 ? 1 : 0);
  }
  return list;
}

inline Outcome verdict(
    std::initializer_list<std::pair<const char*, std::pair<Comparison, Element>>> parts) {
  Outcome outcome{true, {}};
  for (const auto& [name, part] : parts) {
    if (part.first.elements == 0) continue;
    outcome.good = outcome.good && part.first.good(part.second);
    char text[96];
    std::snprintf(
        text, sizeof text, " %s %.2f (%lld/%lld bad, %.1f%% inexact)", name, part.first.worst,
        part.first.bad, part.first.elements,
        100.0 * static_cast<double>(part.first.inexact) / static_cast<double>(part.first.elements));
    outcome.text += text;
  }
  return outcome;
}

inline Outcome check_forward(const Tools& tools, const Problem& p,
                             const rms::CudaForwardCfg* pinned = nullptr) {
  ForwardCall call = forward_call(p);
  rms::CudaForwardCfg cfg;
  if (pinned != nullptr) cfg = *pinned;
  p.describe(cfg, call.leading, false);
  cfg.want_rstd = p.rstd;
  if (pinned == nullptr) cfg = rms::forward_geometry(cfg, call.args.rows, tools.limits);
  if (const char* why = rms::objection(cfg)) return {false, std::string("objection: ") + why};
  const int size = rms::element_bytes(p.element);
  const long long rows = p.x.rows();
  const Driver& driver = tools.driver;
  const Unit unit = tools.nvrtc.compile(forward_source(cfg), tools.arch, tools.include);
  const Module module(driver, unit.cubin);
  const long long weight_count = p.weight_offset + p.hidden * p.weight_step;
  auto x = random_elements(p.element, p.x.extent(p.hidden), 0.1, 1.5, 1);
  auto weight = random_elements(p.weight, weight_count, 0.5, 0.5, 2);
  const long long y_count = p.y.extent(p.hidden);
  const Memory x_device(driver, x.size()), w_device(driver, weight.size()),
      y_device(driver, static_cast<std::size_t>(y_count * size)),
      r_device(driver, static_cast<std::size_t>(rows * 4));
  x_device.upload(x.data(), x.size());
  w_device.upload(weight.data(), weight.size());
  y_device.poison();
  r_device.poison();
  call.args.x = x_device.as(static_cast<std::size_t>(p.x.offset * size));
  call.args.weight =
      w_device.as(static_cast<std::size_t>(p.weight_offset * rms::element_bytes(p.weight)));
  call.args.y = y_device.as(static_cast<std::size_t>(p.y.offset * size));
  call.args.rstd = r_device.as<float>();
  const Launch launch = forward_launch(module, cfg, rows);
  launch(driver, &call.args);
  driver.synchronize();
  std::vector<unsigned char> y(static_cast<std::size_t>(y_count * size)), again(y.size());
  std::vector<float> rstd(static_cast<std::size_t>(rows));
  y_device.download(y.data(), y.size());
  r_device.download(rstd.data(), rstd.size() * 4);
  launch(driver, &call.args);
  driver.synchronize();
  y_device.download(again.data(), again.size());

  const std::vector<double> w = weights_of(p, weight.data());
  Comparison of_y, of_rstd;
  for (const long long row : sampled_rows(rows, p.hidden, 1 << 21)) {
    const double r = reference_rstd(p, x.data(), row);
    const long long from = p.x.row_at(row), to = p.y.row_at(row);
    for (int c = 0; c < p.hidden; ++c) {
      const double value = load_element(p.element, x.data(), from + c * p.x.step);
      const double weight_c = w[static_cast<std::size_t>(c)];
      double want = value * r * weight_c;
      if (p.variant == Variant::kStandard) want = rounded_to(p.element, value * r) * weight_c;
      if (p.variant == Variant::kUnweighted) want = value * rounded_to(p.element, r);
      of_y.add(p.element, load_element(p.element, y.data(), to + c * p.y.step), want,
               1e-6 * std::abs(want), 2);
    }
    if (p.rstd) of_rstd.add(Element::kF32, rstd[static_cast<std::size_t>(row)], r, 1e-6 * r, 1);
  }
  Outcome outcome = verdict({{"y", {of_y, p.element}}, {"rstd", {of_rstd, Element::kF32}}});
  if (y != again) outcome = {false, outcome.text + " not repeatable"};
  if (unit.spill_bytes > 0) outcome.text += " SPILL " + std::to_string(unit.spill_bytes);
  outcome.text += " [" + geometry_text(cfg) + " r" + std::to_string(unit.registers) + "]";
  return outcome;
}

inline Outcome check_backward(const Tools& tools, const Problem& p,
                              const rms::CudaBackwardCfg* pinned = nullptr) {
  BackwardCall call = backward_call(p);
  rms::CudaBackwardCfg cfg;
  if (pinned != nullptr) cfg = *pinned;
  p.describe(cfg, call.leading, true);
  cfg.has_rstd = p.rstd;
  cfg.want_dx = p.want_dx;
  cfg.want_dweight = p.want_dweight && p.weighted();
  if (pinned == nullptr) cfg = rms::backward_geometry(cfg, tools.limits);
  if (const char* why = rms::objection(cfg)) return {false, std::string("objection: ") + why};
  const int size = rms::element_bytes(p.element), weight_size = rms::element_bytes(p.weight);
  const long long rows = p.x.rows();
  const Driver& driver = tools.driver;
  const Unit unit = tools.nvrtc.compile(backward_source(cfg), tools.arch, tools.include);
  const Module module(driver, unit.cubin);
  const long long weight_count = p.weight_offset + p.hidden * p.weight_step;
  auto x = random_elements(p.element, p.x.extent(p.hidden), 0.1, 1.5, 1);
  auto dy = random_elements(p.element, p.dy.extent(p.hidden), 0.05, 0.7, 3);
  auto weight = random_elements(p.weight, weight_count, 0.5, 0.5, 2);
  std::vector<float> rstd(static_cast<std::size_t>(rows));
  for (long long row = 0; row < rows; ++row)
    rstd[static_cast<std::size_t>(row)] = static_cast<float>(reference_rstd(p, x.data(), row));
  const long long dx_count = p.y.extent(p.hidden);
  const Memory x_device(driver, x.size()), dy_device(driver, dy.size()),
      w_device(driver, weight.size()), dx_device(driver, static_cast<std::size_t>(dx_count * size)),
      r_device(driver, rstd.size() * 4),
      dw_device(driver, static_cast<std::size_t>(p.hidden * weight_size)),
      workspace(driver, static_cast<std::size_t>(rms::backward_workspace_bytes(cfg, rows)));
  x_device.upload(x.data(), x.size());
  dy_device.upload(dy.data(), dy.size());
  w_device.upload(weight.data(), weight.size());
  if (rows > 0) r_device.upload(rstd.data(), rstd.size() * 4);
  dx_device.poison();
  dw_device.poison();
  workspace.poison();
  call.args.x = x_device.as(static_cast<std::size_t>(p.x.offset * size));
  call.args.dy = dy_device.as(static_cast<std::size_t>(p.dy.offset * size));
  call.args.weight = w_device.as(static_cast<std::size_t>(p.weight_offset * weight_size));
  call.args.rstd = r_device.as<float>();
  call.args.dx = dx_device.as(static_cast<std::size_t>(p.y.offset * size));
  call.args.dweight = dw_device.as();
  call.args.partials = workspace.as<float>();
  call.args.partial_count = rms::backward_partials(cfg, rows);
  const Launch launch = backward_launch(module, cfg, rows);
  const auto go = [&] {
    launch(driver, &call.args);
    if (cfg.want_dweight) reduce_launch(module, cfg)(driver, &call.args);
    driver.synchronize();
  };
  std::vector<unsigned char> dx(static_cast<std::size_t>(dx_count * size)), dx_again(dx.size());
  std::vector<unsigned char> dw(static_cast<std::size_t>(p.hidden * weight_size)),
      dw_again(dw.size());
  go();
  dx_device.download(dx.data(), dx.size());
  dw_device.download(dw.data(), dw.size());
  workspace.poison();
  go();
  dx_device.download(dx_again.data(), dx_again.size());
  dw_device.download(dw_again.data(), dw_again.size());

  const std::vector<double> w = weights_of(p, weight.data());
  std::vector<double> sum(static_cast<std::size_t>(p.hidden)), magnitude(sum.size());
  Comparison of_dx, of_dw;
  std::vector<long long> sample = sampled_rows(rows, p.hidden, 1 << 21);
  std::size_t next = 0;
  const bool all = cfg.want_dweight;
  for (long long i = 0; i < (all ? rows : static_cast<long long>(sample.size())); ++i) {
    const long long row = all ? i : sample[static_cast<std::size_t>(i)];
    bool compare = !all;
    if (all && next < sample.size() && sample[next] == row) {
      compare = true;
      ++next;
    }
    const double r = reference_rstd(p, x.data(), row);
    const long long at_x = p.x.row_at(row), at_dy = p.dy.row_at(row), to = p.y.row_at(row);
    double mean = 0, mean_magnitude = 0;
    for (int c = 0; c < p.hidden; ++c) {
      const double xh = load_element(p.element, x.data(), at_x + c * p.x.step) * r;
      const double g = load_element(p.element, dy.data(), at_dy + c * p.dy.step);
      mean += xh * g * w[static_cast<std::size_t>(c)];
      mean_magnitude += std::abs(xh * g * w[static_cast<std::size_t>(c)]);
      sum[static_cast<std::size_t>(c)] += g * xh;
      magnitude[static_cast<std::size_t>(c)] += std::abs(g * xh);
    }
    mean /= p.hidden;
    mean_magnitude /= p.hidden;
    for (int c = 0; compare && cfg.want_dx && c < p.hidden; ++c) {
      const double xh = load_element(p.element, x.data(), at_x + c * p.x.step) * r;
      const double m = load_element(p.element, dy.data(), at_dy + c * p.dy.step) *
                       w[static_cast<std::size_t>(c)];
      // f32 leaves a few 2^-24 of each term, and of the terms of the mean: both may cancel.
      const double want = r * (m - xh * mean),
                   slack = 1e-6 * r * (std::abs(m) + std::abs(xh) * mean_magnitude);
      of_dx.add(p.element, load_element(p.element, dx.data(), to + c * p.y.step), want, slack, 1);
    }
  }
  for (int c = 0; cfg.want_dweight && c < p.hidden; ++c) {
    const auto at = static_cast<std::size_t>(c);
    of_dw.add(p.weight, load_element(p.weight, dw.data(), c), sum[at], 1e-6 * magnitude[at], 1);
  }
  Outcome outcome = verdict({{"dx", {of_dx, p.element}}, {"dw", {of_dw, p.weight}}});
  if (cfg.want_dx && dx != dx_again) outcome = {false, outcome.text + " dx not repeatable"};
  if (cfg.want_dweight && dw != dw_again) outcome = {false, outcome.text + " dw not repeatable"};
  if (unit.spill_bytes > 0) outcome.text += " SPILL " + std::to_string(unit.spill_bytes);
  outcome.text += " [" + geometry_text(cfg) + " r" + std::to_string(unit.registers) + "]";
  return outcome;
}

}  // namespace kw::gpu_tool
