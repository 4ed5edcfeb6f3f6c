// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/mapped_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "kernelwright/base/fail.hpp"

namespace kw::suite {

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

MappedPages::MappedPages(std::size_t bytes, bool at_end) {
  const std::size_t page = page_bytes(), middle = (bytes + page - 1) / page * page;
  total_ = middle + 2 * page;
  void* const all =
      ::mmap(nullptr, total_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) fail(Code::kEnvironment, "cannot map {} bytes for page guards", total_);
  all_ = static_cast<std::byte*>(all);
  ::mprotect(all_, page, PROT_NONE);
  ::mprotect(all_ + total_ - page, page, PROT_NONE);
  data_ = all_ + page + (at_end ? middle - bytes : 0);
}

MappedPages::~MappedPages() {
  if (all_ != nullptr) ::munmap(all_, total_);
}

void MappedPages::make_read_only() const {
  ::mprotect(all_ + page_bytes(), total_ - 2 * page_bytes(), PROT_READ);
}

}  // namespace kw::suite
