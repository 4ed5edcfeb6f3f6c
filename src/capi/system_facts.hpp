// SPDX-License-Identifier: Apache-2.0
// What the operating system says of this process and machine, for `kw doctor`.
#pragma once

#include <string>
#include <vector>

namespace kw::capi {

struct CacheFact {
  std::string name;       // "L1 data"
  std::string size;       // "48K", as sysfs has it
  std::string shared_by;  // "0-1": processors that share one such cache
};
// Of processor 0; empty where sysfs says nothing.
std::vector<CacheFact> processor_caches();

// Shared objects in this process, in load order: path with links resolved, so that the file name
// carries the version. Without the program itself and the kernel's.
std::vector<std::string> loaded_libraries();

}  // namespace kw::capi
