// SPDX-License-Identifier: Apache-2.0
// Times one piece of work through each protocol, and the empty call whose time is its floor.
#pragma once

#include <memory>
#include <vector>

#include "kernelwright/suite/protocol.hpp"
#include "kernelwright/suite/request.hpp"
#include "kernelwright/suite/sampler.hpp"
#include "kernelwright/suite/stopwatch.hpp"

namespace kw::suite {

struct Work {
  Enqueue enqueue;        // call n is on set n modulo `sets`
  std::int64_t sets = 1;  // of buffers
  void* stream = nullptr;
  double bytes = 0;  // of one set
};

class ProtocolTimer {
 public:
  ProtocolTimer(const Platform& platform, const StoppingRule& rule)
      : platform_(platform), rule_(rule) {}

  // The figures of `protocol`, which is not kCall, each with its working set and its floor where
  // one was measured. Throws what the work throws.
  std::vector<Timing> time(Protocol protocol, const Work& work);
  // Until the work is done, on whatever clock the host has; for floors, `call` and wall figures.
  Timing time_waited(const char* name, const Work& work);

  // Times an empty call through `protocols` and keeps the results as floors.
  const Floors& measure_floors(const std::vector<Protocol>& protocols);

 private:
  Timing collect(const char* name, const Sample& sample, std::int64_t calls);
  std::vector<Timing> time_enqueue(const Work& work);
  Enqueue empty_call() const;

  const Platform& platform_;
  const StoppingRule rule_;
  Floors floors_;
  std::shared_ptr<CacheEviction> eviction_;  // made when first needed
};

}  // namespace kw::suite
