// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/roof_copy.hpp"

#include "kernelwright/suite/host_copy.hpp"

namespace kw::suite {

RoofCopy::RoofCopy(runtime::Device& device, const Roof& roof, double bytes, std::int64_t sets)
    : device_(device),
      roof_(roof),
      bytes_(static_cast<std::int64_t>(bytes) / 128 * 64),
      sets_(sets),
      from_(device, bytes_ * sets),
      to_(device, bytes_ * sets) {
  // Untouched pages of a host would all be one page of zeros.
  device_.fill(from_.data(), 1, bytes_ * sets_, nullptr);
  device_.fill(to_.data(), 2, bytes_ * sets_, nullptr);
  device_.synchronize(nullptr);
}

Status RoofCopy::enqueue(std::int64_t n, void* stream) {
  std::byte *to = place(to_, n), *from = place(from_, n);
  for (const HostCopy how : kHostCopies) {
    if (roof_.method != host_copy_name(how)) continue;
    copy_on_host(how, to, from, bytes_, roof_.threads);
    return {};
  }
  device_.copy(to, from, bytes_, stream);
  return {};
}

}  // namespace kw::suite
