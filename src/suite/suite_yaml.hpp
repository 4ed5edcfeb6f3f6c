// SPDX-License-Identifier: Apache-2.0
// The syntax of suite.yaml and of YAML batch files. Private: suite and catalog only; the one place
// of the suite that sees yaml-cpp is its .cpp.
//   scale:
//     smoke:
//       - scale/{standard,fp32} x={bf16,f16}[{1,16},64]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/suite/suite.hpp"

namespace kw::suite {

// The suites of a file `name`, whose operations are among `operations`. Throws
// Error(kInvalidArgument) with name and line for what is not of this form; an unknown operation or
// batch gets the nearest name.
std::vector<SuiteSpec> parse_suites(std::string_view yaml, std::string_view name,
                                    const std::vector<std::string>& operations);

// The problems of `operation` in a batch file: a list of problems, or suites as above, of which all
// batches of the operation count.
std::vector<std::string> parse_batch_file(std::string_view yaml, std::string_view name,
                                          const std::string& operation);

}  // namespace kw::suite
