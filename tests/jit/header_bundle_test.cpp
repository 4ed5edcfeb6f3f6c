// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/header_bundle.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "jit/support/toy_unit.hpp"
#include "support/expect_error.hpp"

namespace kw::jit {
namespace {

const std::string kSource = "#include \"kernelwright/ops/toy/cuda_body.cuh\"\n";

Digest digest_with(const std::string& name, const std::string& text) {
  auto headers = test::toy_headers();
  headers[name] = text;
  return HeaderBundle(headers).reachable(kSource).digest;
}

TEST(HeaderBundle, ReachesWhatIsIncludedDirectlyOrNot) {
  const HeaderBundle bundle(test::toy_headers());
  std::vector<std::string> names;
  for (const auto& header : bundle.reachable(kSource).headers) names.push_back(header->name);
  EXPECT_EQ(names, (std::vector<std::string>{"kernelwright/kit/cuda/types.cuh",
                                             "kernelwright/ops/toy/cfg.hpp",
                                             "kernelwright/ops/toy/cuda_body.cuh"}));
}

TEST(HeaderBundle, OneByteOfAReachedHeaderChangesTheDigestAndAnotherOperatorsNone) {
  const Digest before = HeaderBundle(test::toy_headers()).reachable(kSource).digest;
  EXPECT_NE(digest_with("kernelwright/kit/cuda/types.cuh", "using u32 = unsigned;\n "), before);
  EXPECT_NE(digest_with("kernelwright/ops/toy/cfg.hpp", "struct Cfg {};"), before);
  EXPECT_EQ(digest_with("kernelwright/ops/other/cfg.hpp", "struct Another {};\n"), before);
  EXPECT_EQ(digest_with("kernelwright/kit/cuda/unused.cuh", ""), before);
}

TEST(HeaderBundle, MissingHeaderIsNamedWithItsIncluder) {
  auto headers = test::toy_headers();
  headers.erase("kernelwright/kit/cuda/types.cuh");
  test::expect_error(
      Code::kNotFound,
      {"kernelwright/ops/toy/cuda_body.cuh includes \"kernelwright/kit/cuda/types.cuh\""},
      [&] { HeaderBundle(headers).reachable(kSource); });
}

TEST(HeaderBundle, EmbeddedHeadersAreThoseOfTheTree) {
  const HeaderBundle& bundle = HeaderBundle::embedded();
  const std::vector<std::string> names = bundle.names();
  ASSERT_FALSE(names.empty());
  const std::filesystem::path root = std::filesystem::path(__FILE__).parent_path() / "../../src";
  for (const std::string& name : names) {
    std::ostringstream file;
    file << std::ifstream(root / name.substr(std::string("kernelwright/").size())).rdbuf();
    const auto closure = bundle.reachable("#include \"" + name + "\"\n");
    for (const auto& header : closure.headers) {
      if (header->name == name) {
        EXPECT_EQ(header->text, file.str()) << name;
      }
    }
  }
}

TEST(HeaderBundle, OfASourceTreeFollowsEdits) {
  const test::TemporaryDirectory directory;
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory.path() + "/src/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  test::expect_error(Code::kNotFound, {"KW_SOURCE_ROOT", directory.path(), "src/kit"},
                     [&] { HeaderBundle::of_source_tree(directory.path()); });
  write("kit/cuda/types.cuh", "1");
  const auto bundle = HeaderBundle::of_source_tree(directory.path());
  const std::string source = "#include \"kernelwright/kit/cuda/types.cuh\"\n";
  const Digest before = bundle->reachable(source).digest;
  EXPECT_EQ(bundle->reachable(source).digest, before);
  write("kit/cuda/types.cuh", "2");
  EXPECT_NE(bundle->reachable(source).digest, before);
}

TEST(QuotedIncludes, AreFoundInEverySpelling) {
  EXPECT_EQ(quoted_includes(
                "#include \"a\"\n  #\tinclude\t\"b\" // c\n#include <d>\nint x;\n#include \"e\""),
            (std::vector<std::string>{"a", "b", "e"}));
}

}  // namespace
}  // namespace kw::jit
