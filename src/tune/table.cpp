// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/tune/table.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/fields.hpp"

namespace kw::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "kw.tuning/1";

// One JSON object whose members are all known and all there.
class Members {
 public:
  Members(const Json& object, std::string where, const std::vector<std::string>& names)
      : object_(object), where_(std::move(where)) {
    if (!object.is_object()) fail(Code::kInvalidArgument, "{}: not a JSON object", where_);
    for (const auto& item : object.items()) {
      if (std::find(names.begin(), names.end(), item.key()) == names.end())
        fail_text(Code::kNotFound,
                  where_ + ": " + unknown_name_message("member", item.key(), names));
    }
    for (const std::string& name : names) {
      if (!object.contains(name))
        fail(Code::kInvalidArgument, "{}: lacks the member '{}'", where_, name);
    }
  }

  const Json& at(const char* name) const { return object_.at(name); }
  std::string place(const char* name) const { return where_ + "." + name; }

  std::string text(const char* name) const {
    if (!at(name).is_string())
      fail(Code::kInvalidArgument, "{}: {} is not text", place(name), at(name).dump());
    return at(name).get<std::string>();
  }
  double positive(const char* name) const {
    if (!at(name).is_number() || !(at(name).get<double>() > 0))
      fail(Code::kInvalidArgument, "{}: {} is not a positive number", place(name), at(name).dump());
    return at(name).get<double>();
  }
  CfgPins fields(const char* name) const {
    try {
      return jit::request_fields(at(name).dump());
    } catch (const Error& error) {
      fail(error.code(), "{}: {}", place(name), error.what());
    }
  }

 private:
  const Json& object_;
  std::string where_;
};

BucketChoice parse_bucket(const Json& json, const std::string& where) {
  const Members members(json, where, {"cfg", "ms", "default_ms", "problems"});
  BucketChoice choice;
  choice.cfg = members.fields("cfg");
  choice.ms = members.positive("ms");
  choice.default_ms = members.positive("default_ms");
  if (!members.at("problems").is_array())
    fail(Code::kInvalidArgument, "{}: not a list of problems", members.place("problems"));
  for (const Json& problem : members.at("problems")) {
    if (!problem.is_string())
      fail(Code::kInvalidArgument, "{}: {} is not text", members.place("problems"), problem.dump());
    choice.problems.push_back(problem.get<std::string>());
  }
  return choice;
}

Entry parse_entry(const Json& json, const std::string& where) {
  const Members members(json, where,
                        {"implementation", "device", "when", "cfg", "buckets", "date", "revision"});
  Entry entry;
  entry.implementation = members.text("implementation");
  const Members device(members.at("device"), members.place("device"), {"capability", "model"});
  entry.capability = device.text("capability");
  entry.model = device.text("model");
  entry.when = members.fields("when");
  entry.tree = members.fields("cfg");
  entry.date = members.text("date");
  entry.revision = members.text("revision");
  const Json& buckets = members.at("buckets");
  if (!buckets.is_object() || buckets.empty())
    fail(Code::kInvalidArgument, "{}: not an object with a bucket or more",
         members.place("buckets"));
  for (const auto& item : buckets.items()) {
    entry.buckets.emplace(item.key(),
                          parse_bucket(item.value(), members.place("buckets") + "." + item.key()));
  }
  return entry;
}

bool can_both_match(const CfgPins& a, const CfgPins& b) {
  return std::all_of(a.begin(), a.end(), [&](const auto& fact) {
    const auto other = b.find(fact.first);
    return other == b.end() || other->second == fact.second;
  });
}

// Where two entries of one device name equally many facts, none may fit both.
void require_decidable(const std::vector<Entry>& entries, const std::string& origin) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (std::size_t j = i + 1; j < entries.size(); ++j) {
      const Entry &a = entries[i], &b = entries[j];
      if (a.implementation != b.implementation || a.capability != b.capability ||
          a.model != b.model || a.when.size() != b.when.size() || !can_both_match(a.when, b.when))
        continue;
      fail(Code::kInvalidArgument,
           "{}: entries[{}] and entries[{}] fit the same problems of {} equally well; name another "
           "fact in one of them, or remove it",
           origin, i, j, a.implementation);
    }
  }
}

Json value_json(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto number = parse_integer(text)) return *number;
  return text;
}

// "inner.width" becomes a member of the object "inner".
Json fields_json(const CfgPins& fields) {
  Json object = Json::object();
  for (const auto& [name, value] : fields) {
    Json* at = &object;
    for (const std::string& part : split(name, '.')) at = &(*at)[part];
    *at = value_json(value);
  }
  return object;
}

// To the 10 ns that a median is good for.
double rounded(double ms) { return parse_number(fmt::format("{:.5f}", ms)).value_or(ms); }

Json entry_json(const Entry& entry) {
  Json buckets = Json::object();
  for (const auto& [name, choice] : entry.buckets) {
    buckets[name] = {{"cfg", fields_json(choice.cfg)},
                     {"ms", rounded(choice.ms)},
                     {"default_ms", rounded(choice.default_ms)},
                     {"problems", choice.problems}};
  }
  return {{"implementation", entry.implementation},
          {"device", {{"capability", entry.capability}, {"model", entry.model}}},
          {"when", fields_json(entry.when)},
          {"cfg", fields_json(entry.tree)},
          {"buckets", std::move(buckets)},
          {"date", entry.date},
          {"revision", entry.revision}};
}

auto entry_key(const Entry& entry) {
  return std::tie(entry.implementation, entry.capability, entry.model, entry.when);
}

}  // namespace

Table parse_table(std::string_view json, const std::string& origin) {
  Json document;
  try {
    document = Json::parse(json);
  } catch (const Json::parse_error& error) {
    fail(Code::kInvalidArgument, "{}: {}", origin, error.what());
  }
  const Members members(document, origin, {"schema", "entries"});
  if (members.text("schema") != kSchema)
    fail(Code::kInvalidArgument, "{}: schema '{}'; this build reads '{}'", origin,
         members.text("schema"), kSchema);
  if (!members.at("entries").is_array())
    fail(Code::kInvalidArgument, "{}: not a list", members.place("entries"));
  Table table;
  for (const Json& entry : members.at("entries")) {
    table.entries.push_back(
        parse_entry(entry, fmt::format("{}: entries[{}]", origin, table.entries.size())));
  }
  require_decidable(table.entries, origin);
  return table;
}

std::string table_text(const Table& table) {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : table.entries) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(),
            [](const Entry* a, const Entry* b) { return entry_key(*a) < entry_key(*b); });
  Json document{{"schema", kSchema}, {"entries", Json::array()}};
  for (const Entry* entry : sorted) document["entries"].push_back(entry_json(*entry));
  return document.dump(2) + '\n';
}

std::vector<std::string> replace_entry(Table& table, Entry entry) {
  const auto former = std::find_if(table.entries.begin(), table.entries.end(),
                                   [&](const Entry& e) { return e.same_key(entry); });
  if (former == table.entries.end()) {
    table.entries.push_back(std::move(entry));
    return {};
  }
  std::vector<std::string> lost;
  for (auto& [name, choice] : former->buckets) {
    if (entry.buckets.count(name) > 0) continue;
    if (former->tree == entry.tree)
      entry.buckets.emplace(name, std::move(choice));
    else
      lost.push_back(name);
  }
  *former = std::move(entry);
  return lost;
}

std::vector<const Entry*> matching_entries(const Table& table, std::string_view implementation,
                                           const Hardware& hardware, const CfgPins& facts) {
  const std::string capability = capability_text(hardware.kind, hardware.capability);
  std::vector<const Entry*> found;
  for (const Entry& entry : table.entries) {
    if (entry.implementation != implementation || entry.capability != capability) continue;
    const bool agrees = std::all_of(entry.when.begin(), entry.when.end(), [&](const auto& fact) {
      const auto own = facts.find(fact.first);
      return own != facts.end() && own->second == fact.second;
    });
    if (agrees) found.push_back(&entry);
  }
  const auto rank = [&](const Entry* entry) {
    return std::make_pair(entry->model == hardware.model, entry->when.size());
  };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Entry* a, const Entry* b) { return rank(a) > rank(b); });
  return found;
}

}  // namespace kw::tune
