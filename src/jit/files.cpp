// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include <fmt/format.h>

namespace kw::jit {
namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

std::string reason(std::string_view what, const std::string& path) {
  return fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno));
}

FileFacts facts_of(const struct stat& status) {
  return {status.st_uid, status.st_mode & 07777U, S_ISDIR(status.st_mode), status.st_size};
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Unique among hosts, containers and threads: 128 random bits. The process is there for people.
std::string temporary_beside(const std::string& path) {
  std::array<std::uint64_t, 2> random{};
  if (::getrandom(random.data(), sizeof random, 0) != sizeof random) {
    random = {static_cast<std::uint64_t>(::getpid()), reinterpret_cast<std::uint64_t>(&random)};
  }
  return fmt::format("{}/.tmp-{}-{:016x}{:016x}", directory_of(path), ::getpid(), random[0],
                     random[1]);
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// Old kernels and some file systems know no RENAME_NOREPLACE; a link never replaces either. Where
// there are no links, an equal file replaces its twin.
bool rename_without_replacing(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return true;
  }
  if (errno == EEXIST) return false;
  return ::rename(from.c_str(), to.c_str()) == 0;
}

}  // namespace

std::optional<FileFacts> file_facts(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return facts_of(status);
}

bool is_directory(const std::string& path) {
  const auto facts = file_facts(path);
  return facts && facts->directory;
}

std::string file_stamp(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return "";
  return fmt::format("{:x}.{:x}.{:x}.{:x}.{:x}.{:x}.{:x}", s.st_dev, s.st_ino, s.st_size,
                     s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

std::string resolved_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  return resolved ? resolved.get() : "";
}

std::optional<std::vector<std::byte>> read_bytes(const std::string& path, FileFacts* facts) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (facts != nullptr) *facts = facts_of(status);
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::optional<std::string> read_text(const std::string& path) {
  const auto bytes = read_bytes(path);
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

std::string make_private_directory(const std::string& path) {
  for (std::size_t end = 1; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && !is_directory(part)) {
      return reason("make the directory", part);
    }
  }
  return is_directory(path) ? "" : path + " is not a directory";
}

std::string publish_file(const std::string& path, std::span<const std::byte> bytes, Publish rule,
                         bool* kept) {
  const std::string directory = directory_of(path);
  if (std::string why = make_private_directory(directory); !why.empty()) return why;
  const std::string temporary = temporary_beside(path);
  {
    const File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file) return reason("create", temporary);
    const bool synced = rule != Publish::kReplaceUnsynced;
    if (!write_all(file.get(), bytes) || ::fchmod(file.get(), 0644) != 0 ||
        (synced && ::fsync(file.get()) != 0)) {
      std::string why = reason("write", temporary);
      ::unlink(temporary.c_str());
      return why;
    }
  }
  const bool named = rule == Publish::kKeepExisting
                         ? rename_without_replacing(temporary, path)
                         : ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!named) {
    const bool lost_race = rule == Publish::kKeepExisting && errno == EEXIST;
    std::string why = lost_race ? "" : reason("rename a new file to", path);
    ::unlink(temporary.c_str());
    if (kept != nullptr) *kept = lost_race;
    return why;
  }
  if (rule != Publish::kReplace) return "";
  if (const File folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); folder) {
    ::fsync(folder.get());
  }
  return "";
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  const auto close = [](DIR* directory) { ::closedir(directory); };
  const std::unique_ptr<DIR, decltype(close)> directory(::opendir(path.c_str()), close);
  if (!directory) return names;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool remove_file(const std::string& path) { return ::unlink(path.c_str()) == 0; }

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace kw::jit
