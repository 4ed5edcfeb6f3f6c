// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/cli/table.hpp"

#include <gtest/gtest.h>

namespace kw::cli {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoTrailingSpace) {
  Table table({"name", ">ms", "note"});
  table.add({"a", "10.5", "first"});
  table.add({"longer", "7"});
  EXPECT_EQ(table.text(false),
            "  name      ms  note\n"
            "  a       10.5  first\n"
            "  longer     7\n");
}

TEST(Table, PrintsNoTitleLineWithoutTitles) {
  Table table({"", ""});
  table.add({"k", "v"});
  EXPECT_EQ(table.text(false, 0), "k  v\n");
}

TEST(Table, ColourTakesNoWidth) {
  Table plain({"a", "b"}), coloured({"a", "b"});
  plain.add({"x", "y"});
  coloured.add({Cell("x", Style::kGood), Cell("y", Style::kBad)});
  EXPECT_EQ(coloured.text(false), plain.text(false));
  EXPECT_NE(coloured.text(true).find("\x1b[32mx\x1b[0m  \x1b[31my\x1b[0m\n"), std::string::npos)
      << coloured.text(true);
}

TEST(Table, CountsCodePointsAndKeepsACellOnOneLine) {
  Table table({"a", "b"});
  table.add({"\xC2\xB5s", "two\n  lines"});
  table.add({"abc", "z"});
  EXPECT_EQ(table.text(false, 0),
            "a    b\n"
            "\xC2\xB5s   two lines\n"
            "abc  z\n");
}

}  // namespace
}  // namespace kw::cli
