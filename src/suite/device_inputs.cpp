// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/device_inputs.hpp"

#include <algorithm>
#include <numeric>

#include "kernelwright/suite/element.hpp"
#include "kernelwright/suite/slices.hpp"

namespace kw::suite {
namespace {

constexpr std::int64_t kChunkElements = std::int64_t{1} << 23;  // of all operands, on the host

// Slices that a chunk of kChunkElements holds.
std::int64_t chunk_slices(const Problem& problem) {
  std::int64_t elements = 0;
  for (const Operand& operand : operands_of(problem)) elements += operand.spec.numel();
  const std::int64_t slices = std::max<std::int64_t>(slice_count(problem), 1);
  return std::clamp<std::int64_t>(slices * kChunkElements / std::max<std::int64_t>(elements, 1), 1,
                                  slices);
}

// Writes the images of the linked operands.
void fill_linked(PlacedTensors& placed, const std::vector<std::size_t>& linked, const Case& spec,
                 const Catalog& catalog) {
  const std::int64_t slices = slice_count(spec.problem), chunk = chunk_slices(spec.problem);
  for (std::int64_t begin = 0; begin < slices; begin += chunk) {
    std::vector<std::int64_t> some(static_cast<std::size_t>(std::min(chunk, slices - begin)));
    std::iota(some.begin(), some.end(), begin);
    const auto values = slice_inputs(spec, some, catalog);
    for (const std::size_t i : linked) {
      TensorView part = slice_of(placed[i].host_view(), begin);
      part.sizes[0] = static_cast<std::int64_t>(some.size());
      write_elements(part, values[i]);
    }
  }
}

// As fill_linked, or on the whole, unless `saved` has them. By the forward's reference on the host,
// although the device would be faster (2^26 elements take seconds): the oracle of a slice computes
// what the forward saved anew and must find the same bits, and what an implementation under test
// saves must not decide what it is judged by. Once a case: timing finds what numerics computed.
void write_linked(PlacedTensors& placed, const std::vector<std::size_t>& linked, const Case& spec,
                  const Catalog& catalog, SavedElements& saved) {
  const std::string id = case_id(spec);
  if (saved.case_id == id) {
    for (std::size_t n = 0; n < linked.size(); ++n) {
      write_elements(placed[linked[n]].host_view(), saved.values[n]);
    }
    return;
  }
  if (why_whole(spec.problem, catalog).empty()) {
    fill_linked(placed, linked, spec, catalog);
  } else {
    fill_inputs(placed, spec.problem, spec.fill, spec.seed, catalog);
  }
  saved = {id, {}};
  for (const std::size_t i : linked) {
    saved.values.push_back(read_elements(placed[i].host_view()));
  }
}

}  // namespace

void fill_inputs_on_device(PlacedTensors& placed, const Case& spec, const Catalog& catalog,
                           DeviceKernels& kernels, void* stream) {
  std::vector<std::size_t> linked;
  for (const InputSource& source :
       input_sources(placed.operands(), spec.problem, spec.fill, spec.seed, catalog)) {
    GuardedTensor& tensor = placed[source.operand];
    if (source.linked) {
      linked.push_back(source.operand);
    } else if (source.content || !kernels.fill(tensor.view(), source.key, stream)) {
      fill_by_key(tensor.host_view(), source);
      tensor.upload(stream);
    }
  }
  if (!linked.empty()) write_linked(placed, linked, spec, catalog, kernels.saved_elements());
  for (const std::size_t i : linked) placed[i].upload(stream);
  kernels.synchronize(stream);
}

}  // namespace kw::suite
