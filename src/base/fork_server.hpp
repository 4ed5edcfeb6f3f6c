// SPDX-License-Identifier: Apache-2.0
// A process for work that may not survive it. One that has threads or a GPU's driver cannot fork
// safely, so a server is forked before: it forks a worker when asked, and another when that is
// gone.
#pragma once

#include <functional>
#include <string>

namespace kw {

struct WorkerAnswer {
  enum class End {
    kAnswered,
    kFailed,  // by an exception
    kTimedOut,
    kDied,
  };
  End end = End::kDied;
  std::string text;  // the answer, the exception's words, or what it died of
};

// One thread at a time. Its end is the end of server and worker.
class ForkServer {
 public:
  struct Served {
    std::string text;
    bool spent = false;  // the worker ends, the next request gets a new one
  };
  // Runs in a worker, for one request after another: what it keeps lives as long as the worker.
  using Serve = std::function<Served(const std::string& request)>;

  // Forks: the process has one thread, and no GPU's driver was started. Throws Error(kEnvironment).
  explicit ForkServer(Serve serve);
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  // A worker that takes longer than `seconds` is killed. Throws Error(kEnvironment) when the server
  // itself is gone.
  WorkerAnswer ask(const std::string& request, double seconds);

 private:
  int socket_ = -1;
  int server_ = -1;  // process
};

}  // namespace kw
