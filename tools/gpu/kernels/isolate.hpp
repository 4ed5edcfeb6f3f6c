// SPDX-License-Identifier: Apache-2.0
// Work items in child processes: a crash, a device error or a hang costs one item, not the run.
#pragma once

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace kw::gpu_tool {

// Runs `item(context-of-child, i)` for i in [0, count): each returns lines of text. A child takes
// items until one fails (throws, dies, or takes longer than `seconds`); the next child goes on
// behind it. `report(i, text, alive)` runs in the parent, in order.
inline void isolated(int count, int seconds,
                     const std::function<std::function<std::string(int)>()>& start,
                     const std::function<void(int, const std::string&, bool)>& report) {
  int next = 0;
  while (next < count) {
    int pipes[2];
    if (pipe(pipes) != 0) return;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      close(pipes[0]);
      FILE* out = fdopen(pipes[1], "w");
      int status = 0;
      std::string text;
      const auto send = [&](char kind) {
        std::fprintf(out, "%c%zu\n%s", kind, text.size(), text.c_str());
        std::fflush(out);
      };
      try {
        const auto item = start();
        for (int i = next; i < count; ++i) {
          text = item(i);
          send('+');
        }
      } catch (const std::exception& error) {
        text = error.what();
        send('-');
        status = 1;
      }
      std::fflush(nullptr);
      _exit(status);
    }
    close(pipes[1]);
    std::string buffer;
    bool failed = false;
    while (next < count && !failed) {
      // A message: kind, length, newline, text.
      const std::size_t newline = buffer.find('\n');
      if (newline != std::string::npos) {
        const std::size_t length = std::stoul(buffer.substr(1, newline - 1));
        if (buffer.size() >= newline + 1 + length) {
          failed = buffer[0] == '-';
          report(next, buffer.substr(newline + 1, length), !failed);
          ++next;
          buffer.erase(0, newline + 1 + length);
          continue;
        }
      }
      pollfd waiting{pipes[0], POLLIN, 0};
      char chunk[4096];
      const int ready = poll(&waiting, 1, seconds * 1000);
      const ssize_t got = ready > 0 ? read(pipes[0], chunk, sizeof chunk) : 0;
      if (got > 0) {
        buffer.append(chunk, static_cast<std::size_t>(got));
        continue;
      }
      report(next, ready == 0 ? "timed out" : "the process died", false);
      ++next;
      failed = true;
    }
    if (failed) kill(child, SIGKILL);
    close(pipes[0]);
    waitpid(child, nullptr, 0);
  }
}

}  // namespace kw::gpu_tool
