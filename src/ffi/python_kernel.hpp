// SPDX-License-Identifier: Apache-2.0
// Private: implementations that are Python callables, in the catalog beside the others.
#pragma once

#include <optional>

#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

namespace kw::ffi {

// `description` is a JSON object: operation, name ("<device>.<solution>.<operation>"), description,
// solution, device, origin, outputs (names of those that it computes), and optionally dtypes (of
// its inputs), contiguous (only such tensors), variants, min_capability, max_capability,
// eager_mode, graph_mode, deterministic, batch_invariant, differentiable, priority, force. With
// `excluded`, a reason, the implementation is reported as excluded and never called.
//
// `kernel` is called as kernel(variant, stream, argument per parameter of the contract): tensors
// that borrow the call's memory and must not outlive it, None where absent, numbers, the names of
// choices. It writes into the outputs it is given, on `stream` (an address); OutputStructureError
// and OutputAliasError say that what it has to write is not what the contract asks for. `supports`,
// if given, maps the text of a problem to None or to the reason why not.
//
// Throws Error as Catalog::register_implementation does.
void register_kernel(const tvm::ffi::String& description,
                     tvm::ffi::Optional<tvm::ffi::Function> kernel,
                     tvm::ffi::Optional<tvm::ffi::Function> supports);

}  // namespace kw::ffi
