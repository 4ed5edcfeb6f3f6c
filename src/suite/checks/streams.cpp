// SPDX-License-Identifier: Apache-2.0
// Whether all of a call lies in the stream that it was given, between what was enqueued before it
// and what is enqueued after it, without the host having to wait.
#include "kernelwright/suite/checks/class_checks.hpp"

namespace kw::suite {
namespace {

using runtime::OwnedStream;
using std::chrono::milliseconds;

constexpr milliseconds kHoldLimit{1000};
constexpr int kLateRounds = 16;

struct HeldCall {
  std::unique_ptr<runtime::StreamHold> hold;
  Status status;
};

// Producer, call and consumer on `stream` while `held` is held; nothing was waited for. With
// `next`, the host's arguments are reused for it as soon as the call returns.
HeldCall enqueue_held(runtime::Device& device, Callable& callable, CallSet& calls, void* stream,
                      void* held, CallSet* next = nullptr) {
  calls.spoil(nullptr);
  device.synchronize(nullptr);
  HeldCall call{device.hold(held, kHoldLimit), {}};
  calls.produce(stream);
  call.status = callable.call_on(calls.arguments(), stream);
  if (next != nullptr) calls.reuse_arguments(*next);
  calls.consume(stream);
  return call;
}

}  // namespace

// [held][producer writes the inputs][call][consumer copies the outputs]. Work on another stream
// reads poison, or is late for the consumer.
void ClassChecks::stream() {
  expected(0);
  CallSet& calls = set(0);
  const OwnedStream stream(device_);
  callable_.reserve(stream.handle());
  const auto [hold, status] =
      enqueue_held(device_, callable_, calls, stream.handle(), stream.handle());
  const bool waited = hold->expired();
  hold->release();
  stream.synchronize();
  throw_if_failed(status);
  if (waited) {
    reject("stream", Reason::kSyncsHost,
           "the call waited for its stream, which was held until it would return");
    return;
  }
  if (right(0, calls.consumed())) return pass("stream");
  settle();
  if (right(0, calls.current())) {
    reject("stream", Reason::kEscapedWork,
           "a consumer on the same stream saw the outputs before they were written");
  } else {
    reject("stream", Reason::kWrongStream,
           "the call did not see what a producer on the same stream wrote before it");
  }
}

// As stream(), which passed; but the host's arguments hold something else when the work runs.
void ClassChecks::lifetime() {
  expected(0);
  CallSet& calls = set(0);
  const OwnedStream stream(device_);
  callable_.reserve(stream.handle());
  const auto [hold, status] =
      enqueue_held(device_, callable_, calls, stream.handle(), stream.handle(), &set(1));
  hold->release();
  stream.synchronize();
  calls.renew_arguments();
  throw_if_failed(status);
  if (right(0, calls.consumed())) return pass("lifetime");
  reject("lifetime", Reason::kLifetime,
         "the work reads the host's arguments after the call returned, when they may be reused");
}

// The default stream is held: what touches it does not come to an end.
void ClassChecks::busy_default_stream() {
  expected(0);
  CallSet& calls = set(0);
  const OwnedStream stream(device_);
  callable_.reserve(stream.handle());
  const auto [hold, status] = enqueue_held(device_, callable_, calls, stream.handle(), nullptr);
  stream.synchronize();
  const bool waited = hold->expired();
  hold->release();
  device_.synchronize(nullptr);
  throw_if_failed(status);
  if (waited) {
    reject("busy_default_stream", Reason::kSyncsHost, "the call waited for the default stream");
  } else if (!right(0, calls.consumed())) {
    reject("busy_default_stream", Reason::kWrongStream,
           "the outputs are wrong while the default stream is held");
  } else {
    pass("busy_default_stream");
  }
}

// Calls directly behind their producers, again and again, with nothing between that waits.
void ClassChecks::late_producers() {
  expected(0);
  expected(1);
  const OwnedStream stream(device_);
  callable_.reserve(stream.handle());
  for (int round = 0; round < kLateRounds; ++round) {
    for (std::size_t i = 0; i < 2; ++i) {
      set(i).spoil(stream.handle());
      set(i).produce(stream.handle());
      throw_if_failed(callable_.call_on(set(i).arguments(), stream.handle()));
      set(i).consume(stream.handle());
    }
    stream.synchronize();
    for (std::size_t i = 0; i < 2; ++i) {
      if (right(i, set(i).consumed())) continue;
      reject("late_producers", Reason::kProducerRace,
             "a call directly behind the producer of its inputs is wrong at times");
      return;
    }
  }
  pass("late_producers");
}

}  // namespace kw::suite
