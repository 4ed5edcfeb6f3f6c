// SPDX-License-Identifier: Apache-2.0
// Errors of building a plan that reports tell apart. Otherwise they are as any Error.
#pragma once

#include "kernelwright/base/error.hpp"

namespace kw::jit {

// A compiler refused a source.
class CompileError final : public Error {
 public:
  using Error::Error;
};

// A device refused a binary that was found or compiled for it.
class LoadError final : public Error {
 public:
  using Error::Error;
};

}  // namespace kw::jit
