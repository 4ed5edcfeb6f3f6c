// SPDX-License-Identifier: Apache-2.0
// Private: where things lie below the root of a cache layer.
#pragma once

#include <string>
#include <string_view>

#include "kernelwright/base/sha256.hpp"

namespace kw::jit {

inline std::string version_path(const std::string& root) { return root + "/v1"; }

inline std::string digest_path(const Digest& name) {
  const std::string digits = hex(name);
  return digits.substr(0, 2) + "/" + digits.substr(2);
}

inline std::string entry_path(const std::string& root, const Digest& name) {
  return version_path(root) + "/" + digest_path(name);
}

inline std::string index_path(const std::string& root, const Digest& name) {
  return version_path(root) + "/index/" + digest_path(name);
}

inline std::string failed_directory(const std::string& root) {
  return version_path(root) + "/failed";
}

inline std::string failed_path(const std::string& root, const std::string& entry,
                               const Digest& source) {
  return failed_directory(root) + "/" + entry + "." + hex(source).substr(0, 12);
}

inline Digest toolchain_index_name(std::string_view stamp) {
  return Sha256().field("kernelwright toolchain").field(stamp).finish();
}

}  // namespace kw::jit
