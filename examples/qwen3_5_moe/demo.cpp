// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/demo.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <iterator>
#include <ostream>
#include <vector>

#include <fmt/format.h>

#include "kernelwright/base/error.hpp"
#include "kernelwright/ops/catalog.hpp"
#include "qwen3_5_moe/measure.hpp"
#include "qwen3_5_moe/model.hpp"
#include "qwen3_5_moe/slots.hpp"

namespace qwen3_5_moe {
namespace {

// Bound slots point into a Context: none stays bound after the demo, however it ends.
struct UnbindOnExit {
  kw::SlotSet& slots;
  ~UnbindOnExit() { slots.unbind(); }
};

struct TimedForward {
  CausalLmOutput output;
  double seconds;
};

std::vector<std::uint8_t> read_text(const DemoOptions& options) {
  std::ifstream file(options.text_path, std::ios::binary);
  file.peek();  // a directory opens, and fails here
  if (!file.is_open() || file.bad()) {
    throw kw::Error(kw::Code::kNotFound,
                    fmt::format("cannot read the text file '{}'; give another one with --text, or "
                                "run in the root of the repository, which has the default",
                                options.text_path));
  }
  std::vector<std::uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 2) {
    throw kw::Error(
        kw::Code::kInvalidArgument,
        fmt::format("the text file '{}' has {} bytes; a next-byte loss needs at least 2",
                    options.text_path, bytes.size()));
  }
  return bytes;
}

TimedForward timed_forward(const Model& model, std::span<const std::uint8_t> bytes) {
  const auto start = std::chrono::steady_clock::now();
  CausalLmOutput output = model.forward(bytes);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return {std::move(output), elapsed.count()};
}

void print_slots(const kw::BindReport& report, const std::vector<SlotMeasurement>& measured,
                 std::ostream& out) {
  out << fmt::format("\n{:<34}{:<26}{:>6}{:>11}{:>10}{:>10}{:>9}\n", "slot", "implementation",
                     "calls", "max error", "eager ms", "bound ms", "ratio");
  bool any_unsteady = false;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const kw::SlotReport& slot = report.slots[i];
    const SlotMeasurement& m = measured[i];
    out << fmt::format("{:<34}{:<26}{:>6}", slot.operation + "/" + slot.variant, slot.bound,
                       m.calls);
    if (m.is_bound) {
      const double ratio = m.eager.median_ms / m.bound.median_ms;
      out << fmt::format("{:>11.1e}{:>10.2f}{:>10.2f}{:>9}\n", m.max_error, m.eager.median_ms,
                         m.bound.median_ms,
                         m.is_steady() ? fmt::format("{:.1f}x", ratio) : "unsteady");
      any_unsteady = any_unsteady || !m.is_steady();
    } else {
      out << fmt::format("{:>11}{:>10.2f}{:>10}{:>9}  {}\n", "-", m.eager.median_ms, "-", "-",
                         slot.reason);
    }
  }
  if (any_unsteady) {
    out << "note: unsteady: repeats differ by more than a quarter, the machine is busy; no ratio\n";
  }
  for (const std::string& field : report.unused_fields) {
    out << fmt::format("note: the configuration gives {}, for which this model has no slot\n",
                       field);
  }
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0.0;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(tensor.data()[i])));
  }
  return largest;
}

}  // namespace

// A sum of n terms in another order differs by about sqrt(n) u relatively, u = 2^-24 (the worst
// case, n u, needs all roundings of one sign). The blocks normalise their input, so that a relative
// change of the residual stream reaches the logits as it is, and changes of several calls add up.
// Cross entropy moves by at most twice the largest change of a logit.
double allowed_loss_difference(double largest_logit, std::int64_t bound_calls, std::int64_t terms) {
  return 2.0 * largest_logit * static_cast<double>(bound_calls) *
         std::sqrt(static_cast<double>(terms)) * 0x1p-24;
}

int run_demo(const DemoOptions& options, std::ostream& out) {
  kw::Context& context =
      kw::initialize({.config_file = options.config_path, .overrides = options.overrides});
  return run_demo(options, context, out);
}

int run_demo(const DemoOptions& options, kw::Context& context, std::ostream& out) {
  if (options.max_bytes < 2 || options.repeats < 1) {
    throw kw::Error(
        kw::Code::kInvalidArgument,
        fmt::format("the demo was asked for {} bytes and {} repeats; it needs at least 2 "
                    "and 1",
                    options.max_bytes, options.repeats));
  }
  const std::vector<std::uint8_t> text = read_text(options);
  const auto length = std::min(text.size(), static_cast<std::size_t>(options.max_bytes));
  const std::span bytes = std::span(text).first(length);

  kw::SlotSet& slots = model_slots();
  const UnbindOnExit unbind{slots};
  const kw::BindReport report = context.bind(slots);

  const kw::Hardware& hardware = context.device().hardware();
  const Model model{Config{}};
  const Config& config = model.config;
  out << fmt::format("device   {}: {}, capability {}, {} threads; kernelwright " KW_VERSION "\n",
                     kw::device_kind_name(hardware.kind), hardware.model,
                     kw::capability_text(hardware.kind, hardware.capability), hardware.units);
  out << fmt::format(
      "model    Qwen3.5-MoE: {} layers, every {}th full attention; hidden {}, {} experts, top {}; "
      "f32, untrained\n",
      config.num_hidden_layers, config.full_attention_interval, config.hidden_size,
      config.num_experts, config.num_experts_per_tok);
  out << fmt::format("text     {}: {} of {} bytes\n", options.text_path, length, text.size())
      << std::flush;

  CallRecorder recorder;
  const TimedForward bound = timed_forward(model, bytes);
  std::vector<RecordedCall> calls = recorder.finish();
  const std::vector<SlotMeasurement> measured = measure_slots(calls, slots, options.repeats);
  const TimedForward eager = timed_forward(model, bytes);
  print_slots(report, measured, out);

  std::int64_t bound_calls = 0;
  for (const SlotMeasurement& m : measured) bound_calls += m.is_bound ? m.calls : 0;
  const double difference = std::fabs(static_cast<double>(bound.output.loss) - eager.output.loss);
  const double allowed = allowed_loss_difference(largest_magnitude(eager.output.logits),
                                                 bound_calls, config.hidden_size);
  const bool agree = std::isfinite(difference) && difference <= allowed;
  out << fmt::format("\nforward  eager {:.2f} s, bound {:.2f} s; largest logit difference {:.1e}\n",
                     eager.seconds, bound.seconds,
                     max_difference(bound.output.logits, eager.output.logits));
  out << fmt::format("router   load balancing {:.6f} eager, {:.6f} bound ({} is balanced)\n",
                     eager.output.aux_loss, bound.output.aux_loss, config.num_experts_per_tok);
  out << fmt::format("loss     eager {:.7f}, bound {:.7f}: they {}\n", eager.output.loss,
                     bound.output.loss, agree ? "agree" : "DIFFER");
  out << fmt::format(
      "         difference {:.1e}, allowed {:.1e} = 2 x largest logit x {} bound calls x sqrt({}) "
      "x "
      "2^-24\n",
      difference, allowed, bound_calls, config.hidden_size);
  return agree ? 0 : 1;
}

}  // namespace qwen3_5_moe
