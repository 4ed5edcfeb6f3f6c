// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/checks/page_guard.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/suite/guarded_tensor.hpp"
#include "kernelwright/suite/mapped_pages.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KW_SUITE_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define KW_SUITE_TSAN 1
#endif

// OpenMP's, whose header belongs to the layers that have kernels.
extern "C" void omp_set_max_active_levels(int levels);

namespace kw::suite {
namespace {

constexpr int kFaultExit = 3;

// What the child tells: where it faulted. `block` < 0: in no tensor's neighbourhood.
struct Fault {
  int block = -1;
  int write = 0;
  long offset = 0;  // bytes from the first byte of the block
  int signal = 0;
};

// `bytes` whose address has this residue of 16, against one of the missing pages: as near to the
// end as that allows.
class Mapping {
 public:
  Mapping(std::size_t bytes, std::size_t residue, bool at_end)
      : bytes_(bytes),
        pages_(at_end ? guarded_bytes(bytes, residue) : bytes + residue, at_end),
        data_(pages_.data() + (at_end ? 0 : residue)) {}

  std::byte* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  void make_read_only() const { pages_.make_read_only(); }
  bool contains(const std::byte* at) const noexcept { return pages_.contains(at); }

 private:
  std::size_t bytes_ = 0;
  MappedPages pages_;
  std::byte* data_ = nullptr;
};

// The whole pages of memory that the child must not stray into: a wrong offset of gigabytes is as
// likely to end there as anywhere.
void hide(const runtime::Buffer& memory) {
  const std::size_t page = page_bytes();
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory.data()) + page - 1) / page * page;
  const auto end =
      (reinterpret_cast<std::uintptr_t>(memory.data()) + static_cast<std::size_t>(memory.bytes())) /
      page * page;
  if (end > begin) ::mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_NONE);
}

// For the handler of the child, which may use nothing else.
const Mapping* child_blocks = nullptr;
int child_count = 0;
int child_pipe = -1;

void on_fault(int number, siginfo_t* info, void* context) {
  Fault fault;
  fault.signal = number;
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
#if defined(__x86_64__)
  constexpr greg_t kWriteBit = 2;
  fault.write =
      (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWriteBit) != 0 ? 1
                                                                                             : 0;
#else
  static_cast<void>(context);
#endif
  for (int i = 0; i < child_count; ++i) {
    if (!child_blocks[i].contains(at)) continue;
    fault.block = i;
    fault.offset = at - child_blocks[i].data();
  }
  if (::write(child_pipe, &fault, sizeof fault) < 0) ::_exit(kFaultExit + 1);
  ::_exit(kFaultExit);
}

// Workspace of the child; its zeroed part is zero because fresh pages are.
class MappedScratch final : public WorkspaceSource {
 public:
  MappedScratch(const Mapping& memory, const WorkspaceSize& size) : memory_(memory) {
    std::memset(memory.data(), kNanPoison, memory.bytes());
    std::memset(memory.data(), 0, static_cast<std::size_t>(size.zeroed_bytes));
  }
  void* take(std::int64_t bytes, std::int64_t) noexcept override {
    return bytes <= static_cast<std::int64_t>(memory_.bytes()) ? memory_.data() : nullptr;
  }

 private:
  const Mapping& memory_;
};

// In the child; does not return.
[[noreturn]] void call_and_exit(const Problem& problem, const PlacedTensors& placed,
                                Callable& callable, const WorkspaceSize& workspace, bool at_end,
                                int pipe) {
  std::vector<Mapping> blocks;
  std::vector<TensorView> views = placed.views();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto range = views[i].byte_range();
    const auto bytes = static_cast<std::size_t>(range.end - range.begin);
    const auto* const from = static_cast<const std::byte*>(views[i].data) + range.begin;
    const Mapping& block =
        blocks.emplace_back(bytes, reinterpret_cast<std::uintptr_t>(from) % 16, at_end);
    placed[i].copy_elements_to(block.data());
    views[i].data = block.data() - range.begin;
    if (!placed.operands()[i].is_written()) block.make_read_only();
  }
  for (std::size_t i = 0; i < views.size(); ++i) hide(placed[i].memory());
  blocks.emplace_back(static_cast<std::size_t>(workspace.bytes), 0, at_end);
  MappedScratch scratch(blocks.back(), workspace);
  child_blocks = blocks.data();
  child_count = static_cast<int>(blocks.size());
  child_pipe = pipe;

  static std::array<std::byte, 65536> stack;
  stack_t alternate{};
  alternate.ss_sp = stack.data();
  alternate.ss_size = stack.size();
  ::sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);

  // No threads of its own: a team that its parent has just let go of may still be leaving, and hold
  // a lock, at the moment of the fork (4 of 453 children hung).
  omp_set_max_active_levels(0);
  callable.set_workspace(&scratch);
  static_cast<void>(callable.call(*make_arguments(problem, views)));
  ::_exit(0);
}

std::string sides(const std::string& name, const Fault& fault, std::size_t bytes) {
  const char* const verb = fault.write != 0 ? "writes" : "reads";
  if (fault.offset < 0) return fmt::format("{} {} bytes before {}", verb, -fault.offset, name);
  return fmt::format("{} {} bytes after the end of {}", verb,
                     fault.offset - static_cast<long>(bytes), name);
}

CheckResult failure(Reason reason, std::string message) {
  return {"pages", false, reason, std::move(message), {}};
}

CheckResult describe(const Fault& fault, const PlacedTensors& placed) {
  if (fault.block < 0)
    return failure(Reason::kCrash, fmt::format("signal {} far from any tensor", fault.signal));
  const auto index = static_cast<std::size_t>(fault.block);
  const Reason outside = fault.write != 0 ? Reason::kOobWrite : Reason::kOobRead;
  if (index == placed.operands().size()) return failure(outside, sides("the workspace", fault, 0));
  const Operand& operand = placed.operands()[index];
  const auto range = placed[index].view().byte_range();
  const auto bytes = static_cast<long>(range.end - range.begin);
  if (fault.offset >= 0 && fault.offset < bytes)
    return failure(Reason::kUndeclaredMutation, "writes to " + operand.name + ", an input");
  return failure(outside, sides(operand.name, fault, static_cast<std::size_t>(bytes)));
}

std::optional<CheckResult> run_child(const Problem& problem, const PlacedTensors& placed,
                                     Callable& callable, const WorkspaceSize& workspace,
                                     bool at_end, double seconds) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) fail(Code::kEnvironment, "cannot make a pipe to a child process");
  const pid_t child = ::fork();
  if (child < 0) {
    ::close(pipe[0]);
    ::close(pipe[1]);
    fail(Code::kEnvironment, "cannot fork a child process for page guards");
  }
  if (child == 0) {
    try {
      call_and_exit(problem, placed, callable, workspace, at_end, pipe[1]);
    } catch (...) {
      ::_exit(kFaultExit + 2);
    }
  }
  ::close(pipe[1]);
  pollfd waited{pipe[0], POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int ready = 0;
  do {  // a signal is no answer
    const std::chrono::duration<double, std::milli> left =
        deadline - std::chrono::steady_clock::now();
    ready = ::poll(&waited, 1, std::max(static_cast<int>(left.count()), 0));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) ::kill(child, SIGKILL);
  Fault fault;
  const bool told = ready > 0 && ::read(pipe[0], &fault, sizeof fault) == sizeof fault;
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (ready == 0)
    return failure(Reason::kTimeout, fmt::format("the call did not end in {:.0f} s", seconds));
  if (told) return describe(fault, placed);
  if (WIFSIGNALED(status))
    return failure(Reason::kCrash, fmt::format("the call ended in signal {}", WTERMSIG(status)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFaultExit + 2)
    fail(Code::kEnvironment, "no memory for page guards");
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) {
    return failure(Reason::kCrash,
                   fmt::format("the call ended the process with code {}", WEXITSTATUS(status)));
  }
  return std::nullopt;
}

}  // namespace

bool has_page_guards() noexcept {
#if defined(KW_SUITE_TSAN)
  return false;
#else
  return true;
#endif
}

std::optional<CheckResult> check_pages(const Problem& problem, const PlacedTensors& placed,
                                       Callable& callable, double seconds) {
  const WorkspaceSize workspace = callable.prepare(problem);
  for (const bool at_end : {true, false}) {
    if (auto found = run_child(problem, placed, callable, workspace, at_end, seconds)) return found;
  }
  return std::nullopt;
}

}  // namespace kw::suite
