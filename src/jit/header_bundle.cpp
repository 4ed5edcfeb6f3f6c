// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/header_bundle.hpp"

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/jit/embedded_headers.hpp"
#include "kernelwright/jit/files.hpp"

namespace kw::jit {
namespace {

constexpr std::string_view kPrefix = "kernelwright/";

std::shared_ptr<const Header> parse(const std::string& name, std::string text) {
  auto header = std::make_shared<Header>();
  header->name = name;
  header->digest = sha256(text);
  header->includes = quoted_includes(text);
  header->text = std::move(text);
  return header;
}

// The name in `#include "name"` when the line is one.
std::string_view quoted_include(std::string_view line) {
  line = trim(line);
  if (line.empty() || line.front() != '#') return {};
  line = trim(line.substr(1));
  constexpr std::string_view kInclude = "include";
  if (line.substr(0, kInclude.size()) != kInclude) return {};
  line = trim(line.substr(kInclude.size()));
  if (line.empty() || line.front() != '"') return {};
  const std::size_t end = line.find('"', 1);
  return end == std::string_view::npos ? std::string_view{} : line.substr(1, end - 1);
}

}  // namespace

std::vector<std::string> quoted_includes(std::string_view source) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    const std::string_view name = quoted_include(source.substr(begin, end - begin));
    if (!name.empty()) names.emplace_back(name);
    begin = end + 1;
  }
  return names;
}

HeaderBundle::HeaderBundle(const std::map<std::string, std::string>& texts) : owned_(texts) {
  for (const auto& entry : owned_) texts_.emplace(entry.first, entry.second);
}

const HeaderBundle& HeaderBundle::embedded() {
  static const std::unique_ptr<const HeaderBundle> bundle = [] {
    std::unique_ptr<HeaderBundle> made(new HeaderBundle);
    for (const EmbeddedHeader& header : embedded_headers()) {
      made->texts_.emplace(header.name, header.text);
    }
    return made;
  }();
  return *bundle;
}

std::unique_ptr<HeaderBundle> HeaderBundle::of_source_tree(const std::string& root) {
  if (!is_directory(root + "/src/kit")) {
    fail(Code::kNotFound,
         "KW_SOURCE_ROOT={}: no folder src/kit there; name the root of a kernelwright source tree, "
         "or "
         "unset it to use the embedded headers",
         root);
  }
  std::unique_ptr<HeaderBundle> bundle(new HeaderBundle);
  bundle->root_ = root;
  return bundle;
}

std::shared_ptr<const Header> HeaderBundle::find(const std::string& name) const {
  if (!root_.empty()) {
    if (name.compare(0, kPrefix.size(), kPrefix) != 0) return nullptr;
    auto text = read_text(root_ + "/src/" + name.substr(kPrefix.size()));
    return text ? parse(name, std::move(*text)) : nullptr;
  }
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Header>& header = parsed_[name];
  if (!header) {
    const auto text = texts_.find(name);
    if (text != texts_.end()) header = parse(name, std::string(text->second));
  }
  return header;
}

HeaderClosure HeaderBundle::reachable(std::string_view source) const {
  std::map<std::string, std::shared_ptr<const Header>> seen;
  std::vector<std::pair<std::string, std::string>> pending;  // name, includer
  for (std::string& name : quoted_includes(source))
    pending.emplace_back(std::move(name), "the unit");
  while (!pending.empty()) {
    const auto [name, includer] = std::move(pending.back());
    pending.pop_back();
    if (seen.count(name) != 0) continue;
    auto header = find(name);
    if (!header) {
      const std::string where = root_.empty() ? "the embedded headers" : root_ + "/src";
      fail(Code::kNotFound,
           "{} includes \"{}\", which is not in {}; kernels may include kit/shared, kit/cuda and "
           "the "
           "cfg.hpp and body of their operation",
           includer, name, where);
    }
    for (const std::string& next : header->includes) pending.emplace_back(next, name);
    seen.emplace(name, std::move(header));
  }
  HeaderClosure closure;
  Sha256 digest;
  for (auto& entry : seen) {
    digest.field(entry.first).field(entry.second->digest);
    closure.headers.push_back(std::move(entry.second));
  }
  closure.digest = digest.finish();
  return closure;
}

std::vector<std::string> HeaderBundle::names() const {
  std::vector<std::string> names;
  for (const auto& entry : texts_) names.push_back(entry.first);
  return names;
}

}  // namespace kw::jit
