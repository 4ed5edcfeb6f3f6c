// SPDX-License-Identifier: Apache-2.0
#include "cli/support/run_kw.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace kw::test {
namespace {

struct Stream {
  int read_end = -1, write_end = -1;
};

Stream open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  return {ends[0], ends[1]};
}

Stream open_terminal() {
  Stream terminal;
  if (openpty(&terminal.read_end, &terminal.write_end, nullptr, nullptr, nullptr) != 0) {
    throw std::runtime_error("openpty");
  }
  return terminal;
}

// Both at once: a child that fills one pipe while we wait for the other would never end.
template <typename OnText>
void drain(std::array<pollfd, 2> sources, std::array<std::string*, 2> texts, OnText on_text) {
  std::array<char, 65536> buffer;
  while (sources[0].fd >= 0 || sources[1].fd >= 0) {
    if (poll(sources.data(), sources.size(), -1) < 0) throw std::runtime_error("poll");
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].fd < 0 || sources[i].revents == 0) continue;
      const ssize_t count = read(sources[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
        on_text();
      } else {
        sources[i].fd = -1;  // end of file; EIO on a terminal without a writer
      }
    }
  }
}

std::vector<std::string> child_environment(const std::vector<std::string>& additions) {
  std::vector<std::string> entries = additions;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("KW_", 0) != 0 && text.rfind("NO_COLOR=", 0) != 0 &&
        text.rfind("TERM=", 0) != 0) {
      entries.push_back(text);
    }
  }
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::string kw_binary() {
  if (const char* path = std::getenv("KW_BINARY"); path != nullptr) return path;
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kw").string();
}

Finished run_kw(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), kw_binary());
  std::vector<std::string> entries = child_environment(options.environment);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(entries);

  const Stream out = options.on_terminal ? open_terminal() : open_pipe();
  const Stream err = options.on_terminal ? Stream{} : open_pipe();
  int target = out.write_end;
  if (!options.stdout_path.empty())
    target = open(options.stdout_path.c_str(), O_WRONLY | O_CLOEXEC);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork");
  if (child == 0) {
    dup2(target, STDOUT_FILENO);
    dup2(options.on_terminal ? out.write_end : err.write_end, STDERR_FILENO);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  if (target != out.write_end) close(target);
  close(out.write_end);
  if (err.write_end >= 0) close(err.write_end);

  Finished finished;
  drain({pollfd{out.read_end, POLLIN, 0}, pollfd{err.read_end, POLLIN, 0}},
        {&finished.out, &finished.err}, [&, signal = options.signal]() mutable {
          if (signal != 0) kill(child, std::exchange(signal, 0));
        });
  close(out.read_end);
  if (err.read_end >= 0) close(err.read_end);
  int status = 0;
  waitpid(child, &status, 0);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "kw_cli_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name)) << text;
  return path(name);
}

std::string TemporaryFolder::read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace kw::test
