// SPDX-License-Identifier: Apache-2.0
// The contract in other notations: JSON for tools and Python, a torch.library schema string, and a
// Markdown table for the docs. All are read off the table.
#pragma once

#include <string>

#include "kernelwright/core/contract.hpp"

namespace kw {

// One object: operation, version, summary, variants, parameters, symbols, field, backward,
// torch_schema. Shapes and dtype rules come as text and, for those who compute with them, taken
// apart: "dims" and "dtypes".
std::string contract_json(const Contract& contract);

// "operation(Tensor x, Tensor? weight, float eps=1e-06, *, str variant='standard',
//  bool want_rstd=False) -> (Tensor y, Tensor rstd)". An output that is not wanted is a
//  zero-element
// tensor. Mutated inputs carry alias annotations: Tensor(a!).
std::string torch_schema(const Contract& contract);

// Parameter table and variant list of the operation's page.
std::string contract_markdown(const Contract& contract);

}  // namespace kw
