// SPDX-License-Identifier: Apache-2.0
// Whether what is decided before running is a function of the problem alone.
#include <fmt/core.h>

#include "kernelwright/suite/checks/class_checks.hpp"

namespace kw::suite {

// Equal problems need equal workspace, and fewer rows no more.
void ClassChecks::decisions() {
  const WorkspaceSize whole = callable_.prepare(problem_), again = callable_.prepare(problem_);
  if (whole.bytes != again.bytes || whole.zeroed_bytes != again.zeroed_bytes) {
    return reject("decisions", Reason::kImpureDecision,
                  fmt::format("the same problem needs {} bytes of workspace and then {}",
                              whole.bytes, again.bytes));
  }
  if (!problem_.symbols.batch.empty() && problem_.symbols.batch.front() > 1) {
    const Problem half = batch_prefix(problem_, problem_.symbols.batch.front() / 2);
    if (callable_.accepts(half)) {
      const WorkspaceSize less = callable_.prepare(half);
      callable_.prepare(problem_);
      if (less.bytes > whole.bytes) {
        return reject("decisions", Reason::kImpureDecision,
                      fmt::format("half the rows need more workspace: {} bytes and not {}",
                                  less.bytes, whole.bytes));
      }
    }
  }
  pass("decisions");
}

}  // namespace kw::suite
