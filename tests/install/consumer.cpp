// SPDX-License-Identifier: Apache-2.0
// Uses the installed headers and library, and prints one fact of each.
#include <cstdio>
#include <string>

#include "kernelwright/base/dtype.hpp"
#include "kernelwright/base/tensor.hpp"

int main() {
  float values[6] = {};
  const kw::TensorView view(values, kw::DType::kF32, {2, 3});
  const std::string name(kw::dtype_name(view.dtype));
  std::printf("%s %lld\n", name.c_str(), static_cast<long long>(view.numel()));
  return name == "f32" && view.numel() == 6 ? 0 : 1;
}
