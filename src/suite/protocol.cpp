// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/protocol.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::suite {
namespace {

struct Named {
  std::string_view name;
  Protocol protocol;
};

// The first name of a protocol is its own.
constexpr Named kNames[] = {
    {"wall_sync", Protocol::kWallSync},       {"wall_cold", Protocol::kWallSync},
    {"wall_hot", Protocol::kWallSync},        {"call", Protocol::kCall},
    {"graph_hot", Protocol::kGraph},          {"graph_cold", Protocol::kGraph},
    {"device_cold", Protocol::kDeviceCold},   {"eager_cold", Protocol::kEager},
    {"host_enqueue", Protocol::kHostEnqueue},
};

}  // namespace

std::string_view protocol_name(Protocol protocol) noexcept {
  return std::find_if(std::begin(kNames), std::end(kNames),
                      [&](const Named& named) { return named.protocol == protocol; })
      ->name;
}

Protocol parse_protocol(std::string_view name) {
  std::vector<std::string> known;
  for (const Named& named : kNames) {
    if (named.name == name) return named.protocol;
    known.emplace_back(named.name);
  }
  fail_text(Code::kNotFound, unknown_name_message("protocol", name, known));
}

bool needs_graphs(Protocol protocol) noexcept {
  return protocol != Protocol::kWallSync && protocol != Protocol::kCall;
}

}  // namespace kw::suite
