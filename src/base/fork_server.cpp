// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/base/fork_server.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "kernelwright/base/fail.hpp"

namespace kw {
namespace {

constexpr double kServerSeconds = 30;  // to clear a worker away, beyond what that was given

using End = WorkerAnswer::End;

// What crosses a socket; of a request `seconds`, of an answer the others.
struct Header {
  std::uint64_t bytes = 0;
  double seconds = 0;
  End end = End::kAnswered;
  bool spent = false;
};
struct Message {
  Header header;
  std::string text;
};

bool transfer(int socket, char* data, std::size_t bytes, bool sends) {
  while (bytes > 0) {
    const ssize_t done =
        sends ? ::send(socket, data, bytes, MSG_NOSIGNAL) : ::recv(socket, data, bytes, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    data += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

bool send(int socket, Message message) {
  message.header.bytes = message.text.size();
  return transfer(socket, reinterpret_cast<char*>(&message.header), sizeof(Header), true) &&
         transfer(socket, message.text.data(), message.text.size(), true);
}

// False when the other side is gone.
bool receive(int socket, Message& message) {
  if (!transfer(socket, reinterpret_cast<char*>(&message.header), sizeof(Header), false))
    return false;
  message.text.resize(message.header.bytes);
  return transfer(socket, message.text.data(), message.text.size(), false);
}

// Whether something, or the end, can be read in time.
bool is_ready(int socket, double seconds) {
  pollfd waited{socket, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&waited, 1, static_cast<int>(seconds * 1000));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

int await(int process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

[[noreturn]] void run_worker(int socket, const ForkServer::Serve& serve) {
  Message request;
  while (receive(socket, request)) {
    Message answer;
    try {
      ForkServer::Served served = serve(request.text);
      answer.text = std::move(served.text);
      answer.header.spent = served.spent;
    } catch (const std::exception& error) {
      answer.header.end = End::kFailed;
      answer.header.spent = true;
      answer.text = error.what();
    }
    if (!send(socket, answer) || answer.header.spent) break;
  }
  ::_exit(0);  // without what this process's parent registered for its own end
}

class Worker {
 public:
  Message ask(const Message& request, int server_socket, const ForkServer::Serve& serve) {
    Message answer;
    if (process_ < 0 && !start(server_socket, serve)) {
      answer.header.end = End::kFailed;
      answer.text = "cannot fork a worker";
      return answer;
    }
    const bool sent = send(socket_, request);
    if (sent && !is_ready(socket_, request.header.seconds)) {
      ::kill(process_, SIGKILL);
      end();
      answer.header.end = End::kTimedOut;
      return answer;
    }
    if (!sent || !receive(socket_, answer)) {
      answer = {};
      answer.header.end = End::kDied;
      const int status = end();
      answer.text = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                        : fmt::format("exit code {}", WEXITSTATUS(status));
    } else if (answer.header.spent) {
      end();
    }
    return answer;
  }

  int end() {
    if (process_ < 0) return 0;
    ::close(socket_);
    return await(std::exchange(process_, -1));
  }

 private:
  bool start(int server_socket, const ForkServer::Serve& serve) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
    process_ = ::fork();
    if (process_ == 0) {
      ::close(server_socket);
      ::close(pair[0]);
      run_worker(pair[1], serve);
    }
    ::close(pair[1]);
    if (process_ < 0) ::close(pair[0]);
    socket_ = pair[0];
    return process_ > 0;
  }

  int process_ = -1, socket_ = -1;
};

[[noreturn]] void run_server(int socket, const ForkServer::Serve& serve) {
  Worker worker;
  Message request;
  while (receive(socket, request)) {
    if (!send(socket, worker.ask(request, socket, serve))) break;
  }
  worker.end();
  ::_exit(0);
}

}  // namespace

ForkServer::ForkServer(Serve serve) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    fail(Code::kEnvironment, "cannot make a socket to a child process");
  server_ = ::fork();
  if (server_ == 0) {
    ::close(pair[0]);
    try {
      run_server(pair[1], serve);
    } catch (...) {
      ::_exit(1);
    }
  }
  ::close(pair[1]);
  socket_ = pair[0];
  if (server_ < 0) {
    ::close(socket_);
    fail(Code::kEnvironment, "cannot fork a child process");
  }
}

ForkServer::~ForkServer() {
  ::close(socket_);
  await(server_);
}

WorkerAnswer ForkServer::ask(const std::string& request, double seconds) {
  Message message;
  message.header.seconds = seconds;
  message.text = request;
  Message answer;
  if (!send(socket_, std::move(message)) || !is_ready(socket_, seconds + kServerSeconds) ||
      !receive(socket_, answer))
    fail(Code::kEnvironment, "the process that forks workers is gone");
  return {answer.header.end, std::move(answer.text)};
}

}  // namespace kw
