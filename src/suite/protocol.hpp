// SPDX-License-Identifier: Apache-2.0
// The ways of timing a call, by the names that requests and reports use.
#pragma once

#include <cstdint>
#include <string_view>

namespace kw::suite {

// Cold and hot figures of one protocol are always taken together.
enum class Protocol : std::uint8_t {
  kWallSync,    // until the work is done, host's clock: wall_cold, wall_hot; with streams wall_sync
  kCall,        // the host's share: the same call without rows, where nothing is left to compute
  kGraph,       // device time in replayed graphs: graph_cold over rotated buffers, graph_hot
  kDeviceCold,  // device time of one call after the cache was evicted: device_cold
  kEager,       // device time between events around eager calls: what a model without graphs sees
  kHostEnqueue,  // a slot's call until it is enqueued, beside an empty kernel through the driver
};

std::string_view protocol_name(Protocol protocol) noexcept;
// A protocol's name or that of one of its figures. Throws Error(kNotFound).
Protocol parse_protocol(std::string_view name);
// Whether it needs streams, events and graphs.
bool needs_graphs(Protocol protocol) noexcept;

}  // namespace kw::suite
