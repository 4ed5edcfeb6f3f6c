// SPDX-License-Identifier: Apache-2.0
// Private: the requests of the C interface, each with its fields and the function that answers it.
#pragma once

#include <span>
#include <string>

#include "kernelwright/capi/request.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::capi {

struct Command {
  const char* name;
  const char* help;
  std::span<const Field> fields;  // without "command"
  std::string (*run)(const Request&);
};

// Those of kw_control; commands.cpp.
std::span<const Command> commands() noexcept;

// Settings as "initialize" and "precompile" take them: config_file, config_text, overrides, mode.
InitializeOptions options_of(const Request& request);

// The problems of `problem` and `problems`, value lists expanded, and checked.
std::vector<Problem> problems_of(const Request& request, const Catalog& catalog);

// Those of kw_precompile and kw_plan_create.
std::span<const Field> precompile_fields() noexcept;
std::span<const Field> plan_fields() noexcept;

}  // namespace kw::capi
