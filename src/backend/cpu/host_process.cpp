// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/backend/cpu/host_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "kernelwright/base/fail.hpp"

namespace kw::jit {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Reads until the program closes its end; false when `deadline` came first.
bool drain(int descriptor, std::chrono::steady_clock::time_point deadline, std::string& output) {
  std::array<char, 16384> piece;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd ready{descriptor, POLLIN, 0};
    const int result = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left.count()));
    if (result == 0) return false;
    if (result < 0 && errno == EINTR) continue;
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output.append(piece.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, const std::string& directory,
                          std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail(Code::kEnvironment, "cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  // A group of its own, so that a compiler driver's children end with it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, arguments[0].c_str(), &actions, &attributes,
                                  pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    fail(Code::kEnvironment, "cannot start {}: {}", arguments[0],
         std::generic_category().message(error));
  }
  ProcessResult result;
  result.timed_out = !drain(ends[0], std::chrono::steady_clock::now() + limit, result.output);
  if (result.timed_out) ::kill(-child, SIGKILL);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace kw::jit
