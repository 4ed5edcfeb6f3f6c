// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/interruption.hpp"

namespace kw::cli {
namespace {

volatile std::sig_atomic_t signalled = 0;

void remember(int) { signalled = 1; }

}  // namespace

Interruption::Interruption() {
  signalled = 0;
  struct sigaction action {};
  action.sa_handler = remember;
  sigemptyset(&action.sa_mask);
  // Back to the default by itself; what waits in the system goes on waiting.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool Interruption::requested() const noexcept { return signalled != 0; }

}  // namespace kw::cli
