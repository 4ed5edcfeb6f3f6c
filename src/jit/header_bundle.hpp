// SPDX-License-Identifier: Apache-2.0
// The headers that kernels may include, as bytes in memory: those embedded in the library at build
// time, or those of a source tree (KW_SOURCE_ROOT). A unit's identity holds the ones that it
// reaches.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kernelwright/base/sha256.hpp"

namespace kw::jit {

struct Header {
  std::string name;  // as included: "kernelwright/kit/cuda/types.cuh"
  std::string text;
  Digest digest{};                    // of the text
  std::vector<std::string> includes;  // quoted ones, taken or not
};

// Every header that a source reaches, sorted by name, and a digest of their names and bytes.
struct HeaderClosure {
  std::vector<std::shared_ptr<const Header>> headers;
  Digest digest{};
};

// Callable from any thread.
class HeaderBundle {
 public:
  explicit HeaderBundle(const std::map<std::string, std::string>& texts);

  // What CMake embedded: kit/{shared,cuda}, and cfg.hpp and *_body.cuh of the operations.
  static const HeaderBundle& embedded();
  // Names resolve to <root>/src/..., read at each use: an edit counts at the next prepare. Throws
  // Error(kNotFound) when `root` is no source tree.
  static std::unique_ptr<HeaderBundle> of_source_tree(const std::string& root);

  // Throws Error(kNotFound), naming the file that includes it, for a header that does not exist.
  HeaderClosure reachable(std::string_view source) const;
  std::vector<std::string> names() const;
  const std::string& root() const noexcept { return root_; }  // "" unless of a source tree

 private:
  HeaderBundle() = default;
  std::shared_ptr<const Header> find(const std::string& name) const;

  std::string root_;
  std::map<std::string, std::string_view> texts_;
  std::map<std::string, std::string> owned_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Header>>
      parsed_;  // guarded; empty with a root
};

// The names of `#include "..."` in a source.
std::vector<std::string> quoted_includes(std::string_view source);

}  // namespace kw::jit
