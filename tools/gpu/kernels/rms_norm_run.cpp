// SPDX-License-Identifier: Apache-2.0
// rms_norm on a GPU: `check` compares every path with a double reference, `sweep` times geometries
// and prints the PERFORMANCE table, `near` does so around the default geometry, `shapes` times the
// default geometry elsewhere. See NOTES.md.
#include <cstring>
#include <map>
#include <memory>

#include "isolate.hpp"
#include "rms_norm_cases.hpp"
#include "rms_norm_sweep.hpp"

namespace kw::gpu_tool {
namespace {

constexpr int kSeconds = 60;  // an item; the first of a process starts CUDA

struct Session {
  Driver driver;
  Nvrtc nvrtc;
  Tools tools;

  Session() : tools{driver, nvrtc, "", "include", {}} {
    const int major = driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const int minor = driver.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    tools.arch = "sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
    tools.limits.max_cluster = major < 9 ? 1 : major < 12 ? 16 : 8;
    tools.limits.max_shared_bytes =
        major < 9 ? 0 : driver.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    nvrtc.compile("extern \"C\" __global__ void warm() {}\n", tools.arch, "include");
  }
};

std::string line(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Every parts-th problem from `part` on.
int check(bool all, std::size_t part, std::size_t parts) {
  std::vector<Case> list;
  const std::vector<Case> every = cases();
  for (std::size_t i = part; i < every.size(); i += parts) list.push_back(every[i]);
  int passed = 0, failed = 0, spilled = 0;
  isolated(
      static_cast<int>(list.size()), kSeconds,
      [&] {
        auto session = std::make_shared<Session>();
        return [&list, session](int i) {
          const Case& item = list[static_cast<std::size_t>(i)];
          const Outcome outcome =
              item.backward ? check_backward(session->tools, item.problem, item.backward_pin())
                            : check_forward(session->tools, item.problem, item.forward_pin());
          return (outcome.good ? "+" : "-") + outcome.text;
        };
      },
      [&](int i, const std::string& text, bool alive) {
        const bool good = alive && text[0] == '+';
        ++(good ? passed : failed);
        spilled += text.find("SPILL") != std::string::npos;
        if (!good || all || text.find("SPILL") != std::string::npos) {
          std::printf("%s %s:%.400s\n", good ? "ok  " : "FAIL",
                      list[static_cast<std::size_t>(i)].problem.name.c_str(),
                      text.c_str() + (alive ? 1 : 0));
        }
      });
  std::printf("check: %d passed, %d failed, %d spill, of %zu\n", passed, failed, spilled,
              list.size());
  return failed == 0 ? 0 : 1;
}

// "ms registers spill compile good geometry" of each candidate, best first.
struct Result {
  double ms;
  int index;
  std::string text;
};

template <typename Cfg>
std::vector<Result> sweep(Shape shape, const std::vector<Cfg>& list, const char* title) {
  constexpr bool kBackward = std::is_same_v<Cfg, rms::CudaBackwardCfg>;
  const Problem problem = plain_problem(shape);
  std::vector<Result> results;
  int broken = 0;
  isolated(
      static_cast<int>(list.size()), kSeconds,
      [&] {
        auto session = std::make_shared<Session>();
        const std::size_t bytes =
            static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.hidden) * 2;
        auto buffers = std::make_shared<Rotation>(
            session->driver, bytes, kBackward ? 3 : 2, 2, shape.hidden, shape.rows,
            kBackward ? std::size_t{4096} * 4 * static_cast<std::size_t>(shape.hidden) : 16,
            Element::kBF16);
        return [&list, session, buffers, problem, shape](int i) {
          const Cfg& cfg = list[static_cast<std::size_t>(i)];
          // Correctness on fewer rows, several groups a block.
          const Problem small = plain_problem({shape.hidden < 1024 ? 3001 : 61, shape.hidden});
          Cfg pinned = cfg;
          Outcome outcome;
          Timed timed;
          if constexpr (std::is_same_v<Cfg, rms::CudaBackwardCfg>) {
            pinned.partials = 5;
            outcome = check_backward(session->tools, small, &pinned);
            timed = time_backward(session->tools, problem, cfg, *buffers);
          } else {
            outcome = check_forward(session->tools, small, &pinned);
            timed = time_forward(session->tools, problem, cfg, *buffers);
          }
          return line("%.5f %s r%d%s%s", timed.ms, geometry_text(cfg).c_str(), timed.registers,
                      timed.spill > 0 ? " SPILL" : "",
                      outcome.good ? "" : (" WRONG" + outcome.text.substr(0, 60)).c_str());
        };
      },
      [&](int i, const std::string& text, bool alive) {
        const bool good = alive && text.find("WRONG") == std::string::npos;
        if (good && text.find("SPILL") == std::string::npos) {
          results.push_back({std::atof(text.c_str()), i, text});
        } else if (!good && ++broken <= 3) {
          std::printf("%s FAIL %s: %.300s\n", title,
                      geometry_text(list[static_cast<std::size_t>(i)]).c_str(), text.c_str());
        }
      });
  std::sort(results.begin(), results.end(),
            [](const Result& a, const Result& b) { return a.ms < b.ms; });
  std::printf("%s %lldx%d: %zu geometries, %d broken; best, then the middle and the last\n", title,
              shape.rows, shape.hidden, list.size(), broken);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i < 6 || i == results.size() / 2 || i + 1 == results.size() || results[i].index == 0) {
      std::printf("  %s%s\n", results[i].text.c_str(), results[i].index == 0 ? " (first)" : "");
    }
  }
  std::fflush(stdout);
  return results;
}

struct Row {
  Shape shape;
  double forward_demand, forward_beyond, both_demand, both_beyond;
};
constexpr Row kRows[] = {{{16384, 4096}, 0.068, 0.065, 0.185, 0.170},
                         {{16384, 7168}, 0.117, 0.112, 0.32, 0.30},
                         {{262144, 128}, 0.036, 0.033, 0.10, 0.09}};

// `near`: the default geometry, which the table then shows, and its neighbours.
int sweep_all(bool near) {
  struct Best {
    rms::CudaForwardCfg forward;
    rms::CudaBackwardCfg backward;
    double forward_ms = 0, backward_ms = 0, both_ms = 0;
    bool found = false;
  };
  std::map<int, Best> best;
  for (const Row& row : kRows) {
    const auto forward = near ? near_forward(row.shape, {}) : forward_candidates(row.shape.hidden);
    const auto backward =
        near ? near_backward(row.shape, {}) : backward_candidates(row.shape.hidden);
    const auto f = sweep(row.shape, forward, "fwd");
    const auto b = sweep(row.shape, backward, "bwd");
    Best& mine = best[row.shape.hidden];
    if (f.empty() || b.empty()) continue;
    const auto shown = [&](const std::vector<Result>& results) -> const Result& {
      for (const Result& result : results)
        if (near && result.index == 0) return result;
      return results[0];
    };
    mine = {forward[static_cast<std::size_t>(shown(f).index)],
            backward[static_cast<std::size_t>(shown(b).index)],
            shown(f).ms,
            shown(b).ms,
            0,
            true};
    isolated(
        1, kSeconds,
        [&] {
          auto session = std::make_shared<Session>();
          return [&, session](int) {
            const std::size_t bytes = static_cast<std::size_t>(row.shape.rows) *
                                      static_cast<std::size_t>(row.shape.hidden) * 2;
            const Rotation buffers(
                session->driver, bytes, 4, 2, row.shape.hidden, row.shape.rows,
                std::size_t{4096} * 4 * static_cast<std::size_t>(row.shape.hidden), Element::kBF16);
            return line("%.5f", time_backward(session->tools, plain_problem(row.shape),
                                              mine.backward, buffers, &mine.forward)
                                    .ms);
          };
        },
        [&](int, const std::string& text, bool alive) {
          if (alive)
            mine.both_ms = std::atof(text.c_str());
          else
            std::printf("fwd+bwd FAIL: %s\n", text.c_str());
        });
  }
  double roof[2] = {0, 0};
  isolated(
      2, kSeconds,
      [] {
        auto session = std::make_shared<Session>();
        return [session](int i) {
          return line("%.5f", copy_ms(session->driver, std::size_t{128} << (20 + 2 * i)));
        };
      },
      [&](int i, const std::string& text, bool alive) {
        if (alive)
          roof[i] = 2.0 * static_cast<double>(std::size_t{128} << (20 + 2 * i)) /
                    std::atof(text.c_str()) / 1e6;
        else
          std::printf("copy FAIL: %s\n", text.c_str());
      });
  std::printf("copy roof: %.0f GB/s (256 MiB moved), %.0f GB/s (1 GiB moved)\n", roof[0], roof[1]);
  std::printf("%-24s %8s %7s %6s %7s %7s  %s\n", "problem (bf16)", "ms", "GB/s", "roof", "demand",
              "beyond", "verdict");
  const auto print = [&](const char* what, Shape shape, double ms, double tensors, double demand,
                         double beyond) {
    const double bytes = tensors * static_cast<double>(shape.rows) * shape.hidden * 2 +
                         static_cast<double>(shape.rows) * 4 * (tensors > 2 ? 2 : 1);
    const double rate = bytes / ms / 1e6;
    char name[64];
    std::snprintf(name, sizeof name, "%s %lldx%d", what, shape.rows, shape.hidden);
    std::printf("%-24s %8.4f %7.0f %6.3f %7.4f %7.4f  %s\n", name, ms, rate,
                rate / std::max(roof[1], 1.0), demand, beyond,
                demand == 0    ? ""
                : ms <= beyond ? "beyond"
                : ms <= demand ? "met"
                               : "SHORT");
  };
  for (const Row& row : kRows) {
    const Best& mine = best[row.shape.hidden];
    if (!mine.found) continue;
    print("fwd", row.shape, mine.forward_ms, 2, row.forward_demand, row.forward_beyond);
    print("bwd", row.shape, mine.backward_ms, 3, 0, 0);
    print("fwd+bwd", row.shape, mine.both_ms, 5, row.both_demand, row.both_beyond);
  }
  return 0;
}

int shapes() {
  struct Item {
    Shape shape;
    Element element;
    int direction;  // 0 forward, 1 backward
    int layout;     // 1: rows of a packed projection (pitch 2C, two leading dimensions)
  };
  std::vector<Item> list;
  for (const int direction : {0, 1}) {
    for (const Shape shape : {Shape{1, 4096},
                              {128, 7168},
                              {4096, 4096},
                              {8192, 1024},
                              {65536, 128},
                              {262144, 128},
                              {16384, 4096},
                              {16384, 7168},
                              {16384, 4097},
                              {4096, 16384},
                              {4096, 16383},
                              {2048, 65536},
                              {1024, 131072},
                              {512, 262144}}) {
      list.push_back({shape, Element::kBF16, direction, 0});
    }
    list.push_back({{8192, 4096}, Element::kF32, direction, 0});
    list.push_back({{256, 262144}, Element::kF32, direction, 0});
    list.push_back({{262144, 128}, Element::kBF16, direction, 1});
  }
  double roof = 1;
  isolated(
      static_cast<int>(list.size()) + 1, kSeconds,
      [&] {
        auto session = std::make_shared<Session>();
        return [&list, session](int i) -> std::string {
          if (i == 0) {
            const Unit empty = session->nvrtc.compile("extern \"C\" __global__ void empty() {}\n",
                                                      session->tools.arch, "include");
            return line("%.5f, an empty kernel compiles in %.1f ms",
                        copy_ms(session->driver, std::size_t{512} << 20), empty.compile_ms);
          }
          const Item& item = list[static_cast<std::size_t>(i - 1)];
          Problem p = plain_problem(item.shape, item.element);
          if (item.layout == 1) {
            p.x.sizes = p.y.sizes = p.dy.sizes = {item.shape.rows / 16, 16};
            p.x.strides = {16 * 2 * item.shape.hidden + 256, 2 * item.shape.hidden};
            p.y = p.dy = contiguous(p.y.sizes, item.shape.hidden);
          }
          const std::size_t bytes =
              static_cast<std::size_t>(p.x.extent(p.hidden) * rms::element_bytes(item.element));
          if (item.direction == 0) {
            rms::CudaForwardCfg cfg;
            p.describe(cfg, forward_call(p).leading, false);
            cfg = rms::forward_geometry(cfg, item.shape.rows, session->tools.limits);
            if (const char* why = rms::objection(cfg)) return why;
            const Rotation buffers(session->driver, bytes, 2, 4, p.hidden, item.shape.rows, 16,
                                   item.element);
            const Timed timed = time_forward(session->tools, p, cfg, buffers);
            return line("%.5f %s r%d%s c%.0f", timed.ms, geometry_text(cfg).c_str(),
                        timed.registers, timed.spill > 0 ? " SPILL" : "", timed.compile_ms);
          }
          rms::CudaBackwardCfg cfg;
          p.describe(cfg, backward_call(p).leading, true);
          cfg = rms::backward_geometry(cfg, session->tools.limits);
          if (const char* why = rms::objection(cfg)) return why;
          const Rotation buffers(
              session->driver, bytes, 3, 4, p.hidden, item.shape.rows,
              static_cast<std::size_t>(rms::backward_workspace_bytes(cfg, item.shape.rows)),
              item.element);
          const Timed timed = time_backward(session->tools, p, cfg, buffers);
          return line("%.5f %s r%d%s c%.0f", timed.ms, geometry_text(cfg).c_str(), timed.registers,
                      timed.spill > 0 ? " SPILL" : "", timed.compile_ms);
        };
      },
      [&](int i, const std::string& text, bool alive) {
        if (i == 0) {
          roof = 2.0 * static_cast<double>(std::size_t{512} << 20) / std::atof(text.c_str()) / 1e6;
          std::printf("copy of 512 MiB, ms: %s; c: ms of compilation\n", text.c_str());
          return;
        }
        const Item& item = list[static_cast<std::size_t>(i - 1)];
        const double bytes = (item.direction == 0 ? 2.0 : 3.0) *
                             static_cast<double>(item.shape.rows) * item.shape.hidden *
                             rms::element_bytes(item.element);
        const double ms = std::atof(text.c_str());
        std::printf("%s %s%s %lldx%d: %.4f ms, %.2f of the roof; %.120s\n",
                    item.direction == 0 ? "fwd" : "bwd",
                    rms::kElementNames[static_cast<int>(item.element)],
                    item.layout ? " packed" : "", item.shape.rows, item.shape.hidden, ms,
                    alive && ms > 0 ? bytes / ms / 1e6 / roof : 0.0, text.c_str());
      });
  return 0;
}

}  // namespace
}  // namespace kw::gpu_tool

int main(int count, char** words) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string mode = count > 1 ? words[1] : "";
  if (mode == "check") {
    const bool all = count > 2 && std::strcmp(words[2], "-v") == 0;
    const bool divided = !all && count == 4;
    const int part = divided ? std::atoi(words[2]) : 0, parts = divided ? std::atoi(words[3]) : 1;
    if (part >= 0 && part < parts)
      return kw::gpu_tool::check(all, static_cast<std::size_t>(part),
                                 static_cast<std::size_t>(parts));
  }
  if (mode == "sweep") return kw::gpu_tool::sweep_all(false);
  if (mode == "near") return kw::gpu_tool::sweep_all(true);
  if (mode == "shapes") return kw::gpu_tool::shapes();
  std::fprintf(stderr,
               "usage: rms_norm_run check [-v | PART PARTS] | sweep | near | shapes   (from the "
               "repository root)\n");
  return 2;
}
