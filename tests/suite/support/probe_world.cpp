// SPDX-License-Identifier: Apache-2.0
#include "suite/support/probe_world.hpp"

namespace kw::test {

using suite::SuiteSpec;

const std::vector<SuiteSpec>& probe_suites() {
  static const std::vector<SuiteSpec> all{
      {"affine",
       {{"smoke",
         {"affine/{one,two} x=bf16[{1,9},33] gain=bf16[33]",
          "affine/one x=f32[9,8] gain=f32[8] want_total=true"}},
        {"ci", {"affine/one x=f16[64,128] gain=f16[128]"}},
        {"bench", {"affine/one x=f32[64,128] gain=f32[128]"}}}}};
  return all;
}

ProbeWorld::ProbeWorld(suite::Sabotage sabotage) { suite::add_probes(catalog, sabotage); }

suite::NumericsRequest toy_request() {
  suite::NumericsRequest request;
  request.implementation = "cpu.toy.affine";
  return request;
}

}  // namespace kw::test
