// SPDX-License-Identifier: Apache-2.0
// A kernel with one Cfg, its headers, and a directory for caches.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "kernelwright/jit/header_bundle.hpp"
#include "kernelwright/jit/unit.hpp"

namespace kw::test {

enum class Order : int { kRow, kColumn };
inline constexpr const char* kOrderNames[] = {"row", "column"};

struct ToyTile {
  int width = 8;
  Order order = Order::kRow;
  static constexpr void visit(auto& self, auto& v) {
    v("width", self.width);
    v("order", self.order, kOrderNames);
  }
};

struct ToyCfg {
  int rows = 4;
  bool aligned = true;
  Order order = Order::kRow;
  ToyTile tile;
  long long limit = 0;
  static constexpr void visit(auto& self, auto& v) {
    v("rows", self.rows);
    v("aligned", self.aligned);
    v("order", self.order, kOrderNames);
    v("tile", self.tile);
    v("limit", self.limit);
  }
};

inline jit::KernelBody toy_body() {
  return {jit::Dialect::kCuda, "cuda.jit.toy", "kernelwright/ops/toy/cuda_body.cuh",
          "toy::Cfg",          "toy::Args",    "toy::run<kCfg>",
          "toy::threads(kCfg)"};
}

inline jit::Unit toy_unit(const ToyCfg& cfg = {}, std::string arch = "sm_90a") {
  runtime::LaunchShape shape;
  shape.block = {128, 1, 1};
  shape.shared_bytes = 1024;
  return jit::make_unit(toy_body(), cfg,
                        jit::entry_name("toy", {"bf16", "r" + std::to_string(cfg.rows)}),
                        std::move(arch), shape);
}

inline std::map<std::string, std::string> toy_headers() {
  return {{"kernelwright/ops/toy/cuda_body.cuh",
           "#pragma once\n#include \"kernelwright/kit/cuda/types.cuh\"\n  #  include  "
           "\"kernelwright/ops/toy/cfg.hpp\"\n"},
          {"kernelwright/ops/toy/cfg.hpp", "struct Cfg {};\n"},
          {"kernelwright/kit/cuda/types.cuh", "using u32 = unsigned;\n"},
          {"kernelwright/ops/other/cfg.hpp", "struct Other {};\n"}};
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_("/tmp/kw-jit-test-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp");
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace kw::test
