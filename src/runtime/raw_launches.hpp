// SPDX-License-Identifier: Apache-2.0
// What a graph of kernels may offer beside its replay, to those who measure what calls cost.
#pragma once

#include <memory>

namespace kw::runtime {

class RawLaunches {
 public:
  // What a thread was made; its end undoes that.
  class ThreadScope {
   public:
    virtual ~ThreadScope() = default;
  };

  virtual ~RawLaunches() = default;
  // Makes the calling thread one that works with the device: calls find its context current.
  virtual std::unique_ptr<ThreadScope> make_current() = 0;
  // Enqueues the kernels of the graph one by one through the driver, with nothing of ours between:
  // what the captured calls cost at least. The thread is current. False, and nothing is enqueued:
  // the graph holds something else, or the driver does not tell.
  virtual bool launch_kernels(void* stream) = 0;
};

}  // namespace kw::runtime
