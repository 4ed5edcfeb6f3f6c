// SPDX-License-Identifier: Apache-2.0
// kw list: what this build has.
#include <ostream>

#include "kernelwright/base/text.hpp"
#include "kernelwright/capi/list_json.hpp"
#include "kernelwright/cli/command.hpp"
#include "kernelwright/cli/operation_page.hpp"
#include "kernelwright/cli/table.hpp"
#include "kernelwright/ops/catalog.hpp"

namespace kw::cli {
namespace {

std::string variant_names(const Contract& contract) {
  std::vector<std::string> names;
  for (const Variant& variant : contract.variants) names.push_back(variant.name);
  return join(names);
}

void print_operations(const Catalog& catalog, const Console& console) {
  Table table({"operation", "variants", "backward", "meaning"});
  for (const Operation& operation : catalog.operations()) {
    const Contract& contract = *operation.contract;
    table.add({contract.operation, variant_names(contract), contract.backward, contract.summary});
  }
  console.out << console.heading("operations") << table.text(console.out_colour);
}

void print_implementations(const Catalog& catalog, const Console& console) {
  Table table({"operation", "device", ">rank", "implementation", "needs", "modes", "properties",
               "variants"});
  for (const Operation& operation : catalog.operations()) {
    for (const Implementation& implementation : operation.implementations) {
      const ImplementationInfo& info = implementation.info;
      table.add({operation.contract->operation, device_kind_name(info.device),
                 std::to_string(capi::rank_of(operation, implementation)), info.name,
                 capability_range_text(info), modes_text(info), properties_text(info),
                 variants_text(info)});
    }
  }
  console.out << '\n'
              << console.heading("implementations, in the order in which they are tried")
              << table.text(console.out_colour);
  if (catalog.exclusions().empty()) return;
  Table excluded({"operation", "implementation", "reason"});
  for (const Exclusion& exclusion : catalog.exclusions()) {
    excluded.add({exclusion.operation, exclusion.implementation, exclusion.reason});
  }
  console.out << '\n' << console.heading("excluded") << excluded.text(console.out_colour);
}

void print_fields(const Catalog& catalog, const Console& console) {
  Table table({"field", "operation", "values"});
  for (const Operation& operation : catalog.operations()) {
    const Contract& contract = *operation.contract;
    table.add({contract.field.name, contract.operation, served_values(operation)});
    for (const auto& [variant, field] : contract.field.variant_names) {
      table.add({field, contract.operation + "/" + variant, served_values(operation)});
    }
  }
  for (const KnownField& known : catalog.known_fields()) {
    if (catalog.find(known.operation) != nullptr) continue;
    const std::string variant = known.variant.empty() ? "" : "/" + known.variant;
    table.add({known.field, Cell(known.operation + variant + ", not in this build", Style::kFaint),
               "auto, eager"});
  }
  console.out << '\n'
              << console.heading("configuration: model.ops_implementation")
              << table.text(console.out_colour)
              << "\n`kw list --operation NAME` has the rest of an operation.\n";
}

ExitCode run_list(const Flags& flags, Console& console) {
  const Catalog& catalog = builtin_catalog();
  if (!flags.operation.empty()) catalog.operation(flags.operation);  // throws, with the nearest
  if (flags.json) {
    console.out << capi::catalog_json(catalog, flags.operation).dump(2) << '\n';
  } else if (!flags.operation.empty()) {
    console.out << operation_page(flags.operation, console);
  } else {
    print_operations(catalog, console);
    print_implementations(catalog, console);
    print_fields(catalog, console);
  }
  return ExitCode::kPassed;
}

}  // namespace

Command list_command() {
  return {"list", "what this build has: operations, variants, implementations, fields",
          "",     {Flag::kOperation, Flag::kJson},
          false,  run_list};
}

}  // namespace kw::cli
