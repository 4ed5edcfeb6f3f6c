// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/cfg_table.hpp"

#include <algorithm>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::tune {

const std::string& nearest_bucket(const Entry& entry, const std::vector<std::string>& names,
                                  int wanted) {
  const auto find = [&](int index) {
    return entry.buckets.find(names[static_cast<std::size_t>(index)]);
  };
  for (int i = wanted; i >= 0; --i) {
    if (const auto found = find(i); found != entry.buckets.end()) return found->first;
  }
  for (int i = wanted + 1; i < static_cast<int>(names.size()); ++i) {
    if (const auto found = find(i); found != entry.buckets.end()) return found->first;
  }
  fail(Code::kInternal, "an entry of {} has none of the buckets {}", entry.implementation,
       join(names));
}

void require_buckets(const Entry& entry, const std::vector<std::string>& names,
                     const std::string& origin) {
  for (const auto& choice : entry.buckets) {
    if (std::find(names.begin(), names.end(), choice.first) == names.end())
      fail_text(Code::kNotFound,
                origin + ": " + unknown_name_message("bucket", choice.first, names));
  }
}

void require_part(const CfgPins& fields, const CfgPins& part, std::string_view role,
                  const std::string& origin) {
  for (const auto& field : fields) {
    if (part.count(field.first) > 0) continue;
    std::vector<std::string> names;
    for (const auto& known : part) names.push_back(known.first);
    fail(Code::kInvalidArgument, "{}: '{}' is not a {} field of the Cfg; those are {}", origin,
         field.first, role, join(names));
  }
}

std::string table_origin(const Entry& entry, const std::string& bucket) {
  return fmt::format("table: bucket {}, measured on {} ({}) {}", bucket, entry.model,
                     entry.capability, entry.date);
}

}  // namespace kw::tune
