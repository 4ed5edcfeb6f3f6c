// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "kernelwright/base/log.hpp"
#include "kernelwright/core/environment.hpp"
#include "kernelwright/jit/files.hpp"
#include "kernelwright/tune/embedded_tables.hpp"

namespace kw::tune {
namespace {

Table read_table(const std::string& folder) {
  const std::string place = "src/ops/" + folder + "/tuning.json";
  if (const std::string& root = environment().source_root; !root.empty()) {
    const std::string path = root + "/" + place;
    if (const auto text = jit::read_text(path)) {
      log(LogLevel::kWarning, "tune", "KW_SOURCE_ROOT: geometry comes from " + path);
      return parse_table(*text, path);
    }
  }
  const auto all = embedded_tables();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto& table) { return table.folder == folder; });
  return found == all.end() ? Table{} : parse_table(found->text, place);
}

}  // namespace

const Table& table_of(std::string_view folder) {
  static std::mutex mutex;
  static std::map<std::string, Table, std::less<>> tables;  // nodes stay where they are
  const std::lock_guard lock(mutex);
  const auto known = tables.find(folder);
  if (known != tables.end()) return known->second;
  std::string name(folder);
  Table table = read_table(name);
  return tables.emplace(std::move(name), std::move(table)).first->second;
}

}  // namespace kw::tune
