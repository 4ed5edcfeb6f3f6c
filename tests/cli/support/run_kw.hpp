// SPDX-License-Identifier: Apache-2.0
// Runs the built `kw` as a user does, and keeps what came back.
#pragma once

#include <string>
#include <vector>

namespace kw::test {

struct Finished {
  int code = -1;         // exit status; 128 + signal when it was killed
  std::string out, err;  // on a terminal both are in `out`
};

struct RunOptions {
  std::vector<std::string> environment;  // "NAME=value", on top of this process's without KW_*
  std::string stdout_path;               // written there instead of `out`
  bool on_terminal = false;              // stdout and stderr are one pseudo-terminal
  int signal = 0;                        // sent once, as soon as something was written
};

// The binary is KW_BINARY, else `kw` beside this test.
std::string kw_binary();
Finished run_kw(const std::vector<std::string>& arguments, const RunOptions& options = {});

// A folder of its own that goes with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // Returns the path.
  std::string write(const std::string& name, const std::string& text) const;
  static std::string read(const std::string& path);

 private:
  std::string folder_;
};

}  // namespace kw::test
