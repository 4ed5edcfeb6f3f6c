// SPDX-License-Identifier: Apache-2.0
// Whether a call keeps to its device.
#include "kernelwright/suite/checks/class_checks.hpp"

namespace kw::suite {

// The same problem on another device of the machine, beside this one.
void ClassChecks::second_device() {
  if (platform_.second_device == nullptr) return;
  runtime::Device& other = *platform_.second_device;
  const auto anew = callable_.bind_again(other);
  if (anew == nullptr) return;
  expected(0);
  CallSet& here = set(0);
  here.spoil(nullptr);
  here.produce(nullptr);
  device_.synchronize(nullptr);
  CallSet there(other, fresh_case(0), platform_.catalog);
  anew->prepare(problem_);
  there.produce(nullptr);
  // What goes to this device by mistake does not come to an end.
  const auto hold =
      device_.is_asynchronous() ? device_.hold(nullptr, std::chrono::milliseconds(1000)) : nullptr;
  throw_if_failed(anew->call_on(there.arguments(), nullptr));
  other.synchronize(nullptr);
  // Judged before this device is waited for: what went there by mistake may have broken it.
  const bool is_right = right(0, there.current());
  if (hold != nullptr) hold->release();
  if (!is_right) {
    return reject("second_device", Reason::kWrongDevice,
                  "right on " + device_.name() + ", wrong on " + other.name());
  }
  device_.synchronize(nullptr);
  if (const auto where = here.damage()) {
    return reject(
        "second_device", Reason::kWrongDevice,
        "a call on " + other.name() + " changed memory of " + device_.name() + ": " + *where);
  }
  if (!right(0, call(0))) {
    return reject("second_device", Reason::kWrongDevice,
                  "wrong on " + device_.name() + " after a call on " + other.name());
  }
  pass("second_device");
}

}  // namespace kw::suite
