// SPDX-License-Identifier: Apache-2.0
// Runs one case through a callable and judges what comes back: structure of memory first (canaries,
// mutation, unwritten outputs), then values, then repetition, batch invariance and the empty call.
#pragma once

#include "kernelwright/core/catalog.hpp"
#include "kernelwright/runtime/device.hpp"
#include "kernelwright/suite/callable.hpp"
#include "kernelwright/suite/case.hpp"
#include "kernelwright/suite/request.hpp"
#include "kernelwright/suite/scratch.hpp"

namespace kw::suite {

struct ValidateOptions {
  int repeats = kDefaultRepeats;  // runs that must agree bitwise, where `deterministic`
  bool deterministic = true;      // as the implementation declares
  bool batch_invariant = false;
};

// Judges `callable`, and nothing else: outputs come from it alone. Fills in status, reason,
// message, checks, outputs and trust. Errors of the callable become statuses; those of the oracle
// throw.
CaseResult validate(const Case& spec, Callable& callable, Scratch& scratch, runtime::Device& device,
                    const Catalog& catalog, const ValidateOptions& options);

// Judges a case that is too large for the host, on a device with `platform.kernels`: inputs are
// made there, and only some slices of the outputs come back (slices.hpp; the first, the last, the
// middle and those around 2^31 and 2^32 elements and bytes) and are judged as validate() does. Two
// calls must agree in every bit. An output without a batch depends on all slices: it is not judged,
// and the check "unjudged:<output>" says so. Canaries are those at the ends. Needs an empty
// why_whole().
CaseResult validate_slices(const Case& spec, Callable& callable, Scratch& scratch,
                           const Platform& platform, const ValidateOptions& options);

// Bytes of device memory that this takes.
double device_case_bytes(const Problem& problem);

// Rough peak of host memory of a case, oracle included.
double case_bytes(const Problem& problem);

}  // namespace kw::suite
