// SPDX-License-Identifier: Apache-2.0
// Geometries to try, and device time of one: graph replay over rotated buffers of at least 4x the
// L2.
#pragma once

#include "rms_norm_check.hpp"

namespace kw::gpu_tool {

struct Shape {
  long long rows;
  int hidden;
};

inline Problem plain_problem(Shape shape, Element element = Element::kBF16) {
  Problem p;
  p.element = p.weight = element;
  p.hidden = shape.hidden;
  p.x = p.y = p.dy = contiguous({shape.rows}, shape.hidden);
  return p;
}

inline std::vector<rms::CudaForwardCfg> forward_candidates(int hidden) {
  std::vector<rms::CudaForwardCfg> list;
  rms::CudaForwardCfg base;
  base.hidden = hidden;
  base.want_rstd = true;
  const auto add = [&](int threads, int rows, int unroll, int blocks, int load, int store) {
    rms::CudaForwardCfg cfg = base;
    cfg.threads_per_row = threads;
    cfg.rows_per_block = rows;
    cfg.unroll = unroll;
    cfg.min_blocks = blocks;
    cfg.load = static_cast<kit::CachePolicy>(load);
    cfg.store = static_cast<kit::CachePolicy>(store);
    if (rms::objection(cfg) == nullptr) list.push_back(cfg);
  };
  static constexpr int kPolicies[][2] = {{0, 0}, {1, 0}, {1, 2}};
  for (const auto& [load, store] : kPolicies) {
    if (hidden <= 256) {
      for (const int threads : {4, 8, 16}) {
        for (const int block : {128, 256, 512}) {
          for (const int unroll : {1, 2, 4}) {
            for (const int resident : {1024, 2048})
              add(threads, block / threads, unroll, resident / block, load, store);
          }
        }
      }
      continue;
    }
    const int accesses = hidden / 8;
    for (const int each : {1, 2, 4}) {
      const int threads = (accesses / each + 31) / 32 * 32;
      for (const int rows : {1, 2}) {
        for (const int unroll : {1, 2}) {
          for (const int resident : {1024, 1536, 2048}) {
            add(threads, rows, unroll, std::max(resident / (threads * rows), 1), load, store);
          }
        }
      }
    }
  }
  return list;
}

inline std::vector<rms::CudaBackwardCfg> backward_candidates(int hidden) {
  std::vector<rms::CudaBackwardCfg> list;
  rms::CudaBackwardCfg base;
  base.hidden = hidden;
  const auto add = [&](int threads, int rows, int unroll, int stages, bool prefetch, int blocks,
                       int partials, int policy = 0) {
    rms::CudaBackwardCfg cfg = base;
    cfg.threads_per_row = threads;
    cfg.rows_per_block = rows;
    cfg.unroll = unroll;
    cfg.stages = stages;
    cfg.prefetch = prefetch;
    cfg.min_blocks = blocks;
    cfg.partials = partials;
    cfg.load = static_cast<kit::CachePolicy>(policy > 0 ? 1 : 0);
    cfg.store = static_cast<kit::CachePolicy>(policy > 0 ? 2 : 0);
    if (rms::objection(cfg) != nullptr) return;
    if (rms::backward_shared_bytes(cfg) * blocks > 220 * 1024) return;
    list.push_back(cfg);
  };
  if (hidden <= 256) {
    for (const int threads : {8, 16}) {
      for (const int block : {256, 512}) {
        for (const int resident : {512, 1024, 1536}) {
          if (resident < block) continue;
          const int blocks = resident / block;
          for (const int policy : {0, 1}) {
            for (const int unroll : {1, 2, 4})
              add(threads, block / threads, unroll, 0, false, blocks, 132 * blocks, policy);
            for (const int unroll : {1, 2})
              add(threads, block / threads, unroll, 0, true, blocks, 132 * blocks, policy);
          }
        }
        for (const int stages : {3, 5})
          add(threads, block / threads, 1, stages, false, 1024 / block, 132 * 1024 / block);
      }
    }
    return list;
  }
  const int accesses = hidden / 8;
  for (const int each : {1, 2, 4}) {
    const int threads = (accesses / each + 31) / 32 * 32;
    for (const int rows : {1, 2}) {
      for (const int resident : {512, 768, 1024, 1536}) {
        const int blocks = resident / (threads * rows);
        if (blocks < 1) continue;
        for (const int stages : {2, 3, 4, 6})
          add(threads, rows, 1, stages, false, blocks, 132 * blocks);
        if (rows == 1) {
          add(threads, rows, 1, 0, false, blocks, 132 * blocks);
          add(threads, rows, 1, 0, true, blocks, 132 * blocks);
        }
      }
    }
  }
  return list;
}

// The default geometry, then its neighbours.
inline std::vector<rms::CudaForwardCfg> near_forward(Shape shape, rms::CudaLimits limits) {
  rms::CudaForwardCfg base;
  base.hidden = shape.hidden;
  base.want_rstd = true;
  base = rms::forward_geometry(base, shape.rows, limits);
  std::vector<rms::CudaForwardCfg> list = {base};
  const auto add = [&](auto change) {
    rms::CudaForwardCfg cfg = base;
    change(cfg);
    if (rms::objection(cfg) == nullptr) list.push_back(cfg);
  };
  for (const auto& [load, store] : {std::pair{0, 2}, {2, 2}, {2, 0}}) {
    add([&](auto& cfg) {
      cfg.load = static_cast<kit::CachePolicy>(load);
      cfg.store = static_cast<kit::CachePolicy>(store);
    });
  }
  for (const int blocks : {base.min_blocks / 2, base.min_blocks + 1, base.min_blocks * 2})
    add([&](auto& cfg) { cfg.min_blocks = blocks; });
  add([&](auto& cfg) { cfg.rows_per_block *= 2, cfg.min_blocks = (cfg.min_blocks + 1) / 2; });
  if (base.rows_per_block > 1)
    add([&](auto& cfg) { cfg.rows_per_block /= 2, cfg.min_blocks *= 2; });
  return list;
}

inline std::vector<rms::CudaBackwardCfg> near_backward(Shape shape, rms::CudaLimits limits) {
  rms::CudaBackwardCfg base;
  base.hidden = shape.hidden;
  base = rms::backward_geometry(base, limits);
  std::vector<rms::CudaBackwardCfg> list = {base};
  const auto add = [&](auto change) {
    rms::CudaBackwardCfg cfg = base;
    change(cfg);
    if (rms::objection(cfg) == nullptr &&
        (rms::backward_shared_bytes(cfg) + 1024) * cfg.min_blocks <= 227 * 1024)
      list.push_back(cfg);
  };
  const auto blocks = [&](auto& cfg, int count) {
    cfg.min_blocks = count;
    cfg.partials = count * rms::kPartialsUnit;
  };
  add([&](auto& cfg) { cfg.load = cfg.store = kit::CachePolicy::kEvictFirst; });
  add([&](auto& cfg) { cfg.partials *= 2; });
  if (base.stages > 0) {
    for (const int stages : {3, 6}) add([&](auto& cfg) { cfg.stages = stages; });
    // Two and four accesses a thread, the latter with two rows a block.
    add([&](auto& cfg) { cfg.threads_per_row /= 2, cfg.stages = 3; });
    add([&](auto& cfg) { cfg.threads_per_row /= 4, cfg.rows_per_block = 2, cfg.stages = 3; });
    return list;
  }
  for (const int count : {2, 3, 5}) add([&](auto& cfg) { blocks(cfg, count); });
  for (const int count : {2, 3}) add([&](auto& cfg) { cfg.unroll = 2, blocks(cfg, count); });
  for (const int count : {2, 3, 4})
    add([&](auto& cfg) { cfg.prefetch = true, blocks(cfg, count); });
  add([&](auto& cfg) { cfg.rows_per_block *= 2, blocks(cfg, 2); });
  add([&](auto& cfg) { cfg.rows_per_block *= 2, cfg.stages = 4, blocks(cfg, 2); });
  return list;
}

// Enough equal buffers that a walk over all of them cannot live in the L2.
class Rotation {
 public:
  static constexpr std::size_t kBytes = std::size_t{512} << 20;

  Rotation(const Driver& driver, std::size_t tensor_bytes, int tensors, int weight_bytes,
           int hidden, long long rows, std::size_t workspace_bytes, Element element)
      : tensors_(tensors) {
    sets_ = static_cast<int>(std::clamp<std::size_t>(
        kBytes / std::max<std::size_t>(tensor_bytes * static_cast<std::size_t>(tensors), 1), 2,
        64));
    const std::size_t chunk = std::min<std::size_t>(tensor_bytes, std::size_t{8} << 20);
    const auto data = random_elements(
        element, static_cast<long long>(chunk) / rms::element_bytes(element), 0, 1, 7);
    for (int i = 0; i < sets_ * tensors; ++i) {
      memory_.emplace_back(driver, tensor_bytes);
      for (std::size_t at = 0; at < tensor_bytes; at += chunk) {
        driver.run("cuMemcpyHtoD", memory_.back().address() + at,
                   static_cast<const void*>(data.data()), std::min(chunk, tensor_bytes - at));
      }
    }
    for (int i = 0; i < sets_; ++i) rstd_.emplace_back(driver, static_cast<std::size_t>(rows) * 4);
    for (int i = 0; i < sets_; ++i) workspace_.emplace_back(driver, workspace_bytes);
    weight_ = Memory(driver, static_cast<std::size_t>(hidden * weight_bytes));
    dweight_ = Memory(driver, static_cast<std::size_t>(hidden * weight_bytes));
    const auto weights = random_elements(element, hidden, 1, 0.1, 8);
    weight_.upload(weights.data(), weights.size());
    const std::vector<float> ones(static_cast<std::size_t>(rows), 1.0F);
    for (const Memory& rstd : rstd_) rstd.upload(ones.data(), ones.size() * 4);
  }

  int sets() const { return sets_; }
  int calls() const { return std::max(sets_, sets_ * (8 / sets_)); }
  void* tensor(int call, int which) const {
    return memory_[static_cast<std::size_t>(call % sets_ * tensors_ + which)].as();
  }
  float* rstd(int call) const { return rstd_[static_cast<std::size_t>(call % sets_)].as<float>(); }
  float* workspace(int call) const {
    return workspace_[static_cast<std::size_t>(call % sets_)].as<float>();
  }
  void* weight() const { return weight_.as(); }
  void* dweight() const { return dweight_.as(); }

 private:
  int tensors_ = 0, sets_ = 0;
  std::vector<Memory> memory_, rstd_, workspace_;
  Memory weight_, dweight_;
};

struct Timed {
  double ms = 0;
  int registers = 0, spill = 0;
  double compile_ms = 0;
};

inline Timed time_forward(const Tools& tools, const Problem& p, const rms::CudaForwardCfg& cfg,
                          const Rotation& buffers) {
  const Unit unit = tools.nvrtc.compile(forward_source(cfg), tools.arch, tools.include);
  const Module module(tools.driver, unit.cubin);
  ForwardCall call = forward_call(p);
  const Launch launch = forward_launch(module, cfg, p.x.rows());
  const double ms = graph_ms(tools.driver, buffers.calls(), 15, [&](int i) {
    call.args.x = buffers.tensor(i, 0);
    call.args.y = buffers.tensor(i, 1);
    call.args.weight = buffers.weight();
    call.args.rstd = buffers.rstd(i);
    launch(tools.driver, &call.args);
  });
  return {ms, unit.registers, unit.spill_bytes, unit.compile_ms};
}

// The backward alone, or behind its forward when `forward` is given: tensors x, y, dy, dx.
inline Timed time_backward(const Tools& tools, const Problem& p, const rms::CudaBackwardCfg& cfg,
                           const Rotation& buffers, const rms::CudaForwardCfg* forward = nullptr) {
  const Unit unit = tools.nvrtc.compile(backward_source(cfg), tools.arch, tools.include);
  const Module module(tools.driver, unit.cubin);
  BackwardCall call = backward_call(p);
  call.args.partial_count = rms::backward_partials(cfg, p.x.rows());
  const Launch launch = backward_launch(module, cfg, p.x.rows());
  const Launch reduce = cfg.want_dweight ? reduce_launch(module, cfg) : Launch{};
  ForwardCall before = forward_call(p);
  std::unique_ptr<Module> forward_module;
  Launch forward_kernel;
  if (forward != nullptr) {
    forward_module = std::make_unique<Module>(
        tools.driver,
        tools.nvrtc.compile(forward_source(*forward), tools.arch, tools.include).cubin);
    forward_kernel = forward_launch(*forward_module, *forward, p.x.rows());
  }
  const double ms = graph_ms(tools.driver, buffers.calls(), 15, [&](int i) {
    before.args.x = call.args.x = buffers.tensor(i, 0);
    before.args.y = buffers.tensor(i, 1);
    before.args.weight = call.args.weight = buffers.weight();
    before.args.rstd = buffers.rstd(i);
    call.args.rstd = buffers.rstd(i);
    call.args.dy = buffers.tensor(i, forward != nullptr ? 2 : 1);
    call.args.dx = buffers.tensor(i, forward != nullptr ? 3 : 2);
    call.args.dweight = buffers.dweight();
    call.args.partials = buffers.workspace(i);
    if (forward != nullptr) forward_kernel(tools.driver, &before.args);
    launch(tools.driver, &call.args);
    if (cfg.want_dweight) reduce(tools.driver, &call.args);
  });
  return {ms, unit.registers, unit.spill_bytes, unit.compile_ms};
}

// Milliseconds of a device-to-device copy of `bytes`, rotated.
inline double copy_ms(const Driver& driver, std::size_t bytes) {
  const int sets = static_cast<int>(std::clamp<std::size_t>(Rotation::kBytes / bytes / 2, 2, 16));
  std::vector<Memory> memory;
  for (int i = 0; i < 2 * sets; ++i) {
    memory.emplace_back(driver, bytes);
    driver.run("cuMemsetD32", memory.back().address(), 0x3f913c2bU + static_cast<unsigned>(i),
               bytes / 4);
  }
  return graph_ms(driver, sets * std::max(8 / sets, 1), 15, [&](int i) {
    const auto at = static_cast<std::size_t>(i % sets * 2);
    driver.run("cuMemcpyDtoDAsync", memory[at + 1].address(), memory[at].address(), bytes,
               driver.stream);
  });
}

}  // namespace kw::gpu_tool
