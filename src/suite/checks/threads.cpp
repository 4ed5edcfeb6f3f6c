// SPDX-License-Identifier: Apache-2.0
// Whether two threads can call at once.
#include <array>
#include <exception>
#include <thread>

#include "kernelwright/suite/checks/class_checks.hpp"

namespace kw::suite {
namespace {

constexpr int kCalls = 8;

}  // namespace

// Each thread has tensors and a stream of its own; on a device with streams both are held until
// everything is enqueued, so that calls in flight meet.
void ClassChecks::threads() {
  const bool streams = device_.is_asynchronous();
  std::array<runtime::OwnedStream, 2> stream;
  std::array<std::unique_ptr<runtime::StreamHold>, 2> holds;
  for (std::size_t i = 0; i < 2; ++i) {
    expected(i);
    if (!streams) continue;
    stream[i] = runtime::OwnedStream(device_);
    callable_.reserve(stream[i].handle());
  }
  if (streams) {
    for (std::size_t i = 0; i < 2; ++i)
      holds[i] = device_.hold(stream[i].handle(), std::chrono::milliseconds(1000));
  }
  std::array<Outputs, 2> outputs;
  std::array<std::exception_ptr, 2> errors;
  const auto work = [&](std::size_t i) {
    try {
      if (!streams) callable_.reserve(nullptr);  // on the CPU workspace belongs to a thread
      for (int n = 0; n < kCalls; ++n) {
        set(i).produce(stream[i].handle());
        throw_if_failed(callable_.call_on(set(i).arguments(), stream[i].handle()));
        set(i).consume(stream[i].handle());
        if (streams) continue;
        outputs[i] = set(i).consumed();
        if (!right(i, outputs[i])) return;
      }
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  if (options_.deterministic || streams) {
    std::thread other(work, 1);
    work(0);
    other.join();
  } else {
    return;  // judging needs the oracle, which takes a thread of its own
  }
  for (auto& hold : holds) {
    if (hold != nullptr) hold->release();
  }
  for (std::size_t i = 0; i < 2 && streams; ++i) {
    stream[i].synchronize();
    outputs[i] = set(i).consumed();
  }
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (right(i, outputs[i])) continue;
    return reject(
        "threads", Reason::kThreadUnsafe,
        "two threads calling at once, with streams and tensors of their own, disturb each "
        "other");
  }
  pass("threads");
}

}  // namespace kw::suite
