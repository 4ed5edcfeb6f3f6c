// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/cache.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "jit/support/toy_unit.hpp"
#include "kernelwright/base/log.hpp"
#include "kernelwright/jit/files.hpp"
#include "kernelwright/jit/key_lock.hpp"
#include "support/expect_error.hpp"

namespace kw::jit {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> image_of(std::size_t size, unsigned seed = 1) {
  std::vector<std::byte> image(size);
  for (std::size_t i = 0; i < size; ++i) image[i] = static_cast<std::byte>((i * 131 + seed) >> 3);
  return image;
}

EntryRecord record_of(const std::string& kernel) {
  EntryRecord record;
  record.key = sha256("K " + kernel);
  record.source_digest = sha256("S " + kernel);
  record.kernel = kernel;
  record.entry = "kw_" + kernel;
  record.arch = "sm_90a";
  record.cfg = "{.rows = 5}";
  record.toolchain = "nvrtc 13.0";
  record.flags = {"-a", "-b c"};
  record.source = "int x;\n\"quoted\"\n";
  record.log = "log \xff not UTF-8";
  record.facts = {32, 4, 8, 16, 1024};
  record.shape.block = {128, 2, 1};
  record.shape.cluster = {4, 1, 1};
  record.shape.shared_bytes = 2048;
  record.dependencies = {{"/usr/include/x.h", sha256("x")}};
  record.compile_ms = 1.5;
  record.created = 1700000000;
  return record;
}

CacheOptions in(const std::string& directory) {
  CacheOptions options;
  options.directory = directory;
  return options;
}

// Warnings of a test, for whoever counts them.
class Warnings {
 public:
  Warnings() {
    set_log_sink([this](LogLevel, std::string_view, std::string_view text) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(text);
    });
  }
  ~Warnings() { set_log_sink(nullptr); }
  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(EntryFile, ReadsBackWhatWasWritten) {
  const EntryRecord record = record_of("toy");
  const auto image = image_of(1000);
  const auto entry = decode_entry(encode_entry(record, image));
  ASSERT_TRUE(entry);
  EXPECT_TRUE(std::equal(entry->image.begin(), entry->image.end(), image.begin(), image.end()));
  EXPECT_EQ((entry->image.data() - entry->file.data()) % 64, 0);
  const EntryRecord& read = entry->record;
  EXPECT_EQ(read.key, record.key);
  EXPECT_EQ(read.source_digest, record.source_digest);
  EXPECT_EQ(
      read.kernel + read.entry + read.arch + read.cfg + read.toolchain + read.source,
      record.kernel + record.entry + record.arch + record.cfg + record.toolchain + record.source);
  EXPECT_EQ(read.flags, record.flags);
  EXPECT_EQ(read.log, "log \xef\xbf\xbd not UTF-8");
  EXPECT_EQ(read.facts.registers, 32);
  EXPECT_EQ(read.facts.spill_load_bytes, 8);
  EXPECT_EQ(read.facts.static_shared_bytes, 1024);
  EXPECT_EQ(read.shape.block.y, 2U);
  EXPECT_EQ(read.shape.cluster.x, 4U);
  EXPECT_EQ(read.shape.shared_bytes, 2048U);
  ASSERT_EQ(read.dependencies.size(), 1U);
  EXPECT_EQ(read.dependencies[0].digest, sha256("x"));
  EXPECT_EQ(read.compile_ms, 1.5);
  EXPECT_EQ(read.created, 1700000000);
}

TEST(EntryFile, HasAKnownFrame) {
  const auto file = encode_entry(record_of("toy"), image_of(10));
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  EXPECT_EQ(text.substr(0, 16), std::string_view("KWENTRY\n\1\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(text[24], 10);
  EXPECT_EQ(text.substr(32, 8), "{\"arch\":");
}

TEST(EntryFile, EveryFlippedByteAndEveryCutIsNoticed) {
  const auto file = encode_entry(record_of("toy"), image_of(100));
  for (std::size_t i = 0; i < file.size(); i += 7) {
    auto altered = file;
    altered[i] ^= std::byte{1};
    EXPECT_FALSE(decode_entry(altered)) << "byte " << i;
  }
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{31}, file.size() / 2, file.size() - 1}) {
    EXPECT_FALSE(decode_entry({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size;
  }
  auto longer = file;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_entry(longer));
}

TEST(Cache, FindsWhatAnotherProcessPublished) {
  const test::TemporaryDirectory directory;
  const EntryRecord record = record_of("toy");
  Cache writer(in(directory.path() + "/new"));
  EXPECT_FALSE(writer.find(record.key, record.source_digest));
  writer.publish(record.key, encode_entry(record, image_of(100)));
  EXPECT_EQ(writer.counters().published, 1);
  Cache reader(in(directory.path() + "/new"));
  const auto found = reader.find(record.key, record.source_digest);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->layer, Layer::kUser);
  EXPECT_EQ(found->path, directory.path() + "/new/v1/" + hex(record.key).substr(0, 2) + "/" +
                             hex(record.key).substr(2));
  EXPECT_EQ(reader.counters().hits[2], 1);
  EXPECT_EQ(file_facts(directory.path() + "/new")->mode, 0700U);
}

TEST(Cache, AnEntryIsNotReplacedAndLeavesNothingBehind) {
  const test::TemporaryDirectory directory;
  Cache cache(in(directory.path()));
  EntryRecord record = record_of("toy");
  cache.publish(record.key, encode_entry(record, image_of(100, 1)));
  const std::string path = cache.find(record.key, record.source_digest)->path;
  const std::string stamp = file_stamp(path);
  cache.publish(record.key, encode_entry(record, image_of(100, 2)));
  EXPECT_EQ(file_stamp(path), stamp);
  EXPECT_EQ(cache.counters().published, 1) << "the loser published nothing";
  EXPECT_EQ(list_directory(fs::path(path).parent_path()).size(), 1U);
  EXPECT_EQ(cache.counters().write_failures, 0);
}

TEST(Cache, ADamagedEntryIsAMissAndMakesRoom) {
  const test::TemporaryDirectory directory;
  Warnings warnings;
  Cache cache(in(directory.path()));
  const EntryRecord record = record_of("toy");
  cache.publish(record.key, encode_entry(record, image_of(100)));
  const std::string path = cache.find(record.key, record.source_digest)->path;
  fs::resize_file(path, fs::file_size(path) - 1);
  EXPECT_EQ(cache.verify().size(), 1U);
  EXPECT_FALSE(cache.find(record.key, record.source_digest));
  EXPECT_EQ(cache.counters().rejected, 1);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("removed"), std::string::npos);
  cache.publish(record.key, encode_entry(record, image_of(100)));
  EXPECT_TRUE(cache.find(record.key, record.source_digest));
}

TEST(Cache, AnEntryUnderAnotherNameIsRefused) {
  const test::TemporaryDirectory directory;
  Cache cache(in(directory.path()));
  const EntryRecord one = record_of("one"), two = record_of("two");
  cache.publish(two.key, encode_entry(one, image_of(100)));
  EXPECT_EQ(cache.verify().size(), 1U);
  EXPECT_FALSE(cache.find(two.key, two.source_digest));
  EXPECT_FALSE(cache.find(one.key, one.source_digest));
}

TEST(Cache, LayersAreReadInOrderAndOnlyTheUsersIsWritten) {
  const test::TemporaryDirectory directory;
  const EntryRecord record = record_of("toy");
  const auto file = encode_entry(record, image_of(100));
  for (const char* layer : {"/pack", "/shared", "/user"})
    fs::create_directory(directory.path() + layer);
  Cache(in(directory.path() + "/shared")).publish(record.key, file);
  Cache(in(directory.path() + "/pack")).publish(record.source_digest, file);
  CacheOptions options = in(directory.path() + "/user");
  options.packs = {directory.path() + "/pack"};
  options.shared = {directory.path() + "/shared"};
  Cache cache(options);
  const auto in_pack = cache.find_by_source(record.source_digest);
  ASSERT_TRUE(in_pack);
  EXPECT_EQ(in_pack->layer, Layer::kPack);
  EXPECT_EQ(cache.find(record.key, record.source_digest)->layer, Layer::kShared);
  const EntryRecord other = record_of("other");
  cache.publish(other.key, encode_entry(other, image_of(10)));
  EXPECT_EQ(cache.find(other.key, other.source_digest)->layer, Layer::kUser);
  EXPECT_EQ(cache.list().size(), 3U);
  EXPECT_EQ(cache.verify().size(), 0U);
}

TEST(Cache, UnwritableIsSaidOnceAndNoError) {
  const test::TemporaryDirectory directory;
  std::ofstream(directory.path() + "/file") << "x";
  Warnings warnings;
  Cache cache(in(directory.path() + "/file/cache"));
  for (const char* kernel : {"one", "two"}) {
    const EntryRecord record = record_of(kernel);
    cache.publish(record.key, encode_entry(record, image_of(10)));
    cache.remember(record.source_digest, {"stamp", record.key, {}});
  }
  EXPECT_EQ(cache.counters().published, 0);
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("KW_CACHE_DIR"), std::string::npos);
}

TEST(Cache, ReadOnlyWritesNothing) {
  const test::TemporaryDirectory directory;
  CacheOptions options = in(directory.path());
  options.read_only = true;
  Cache cache(options);
  const EntryRecord record = record_of("toy");
  cache.publish(record.key, encode_entry(record, image_of(10)));
  cache.remember(record.source_digest, {"stamp", record.key, {}});
  EXPECT_EQ(cache.clear(), 0);
  EXPECT_TRUE(list_directory(directory.path()).empty());
}

TEST(Cache, ARootThatOthersMayWriteIsRefusedUnlessTrusted) {
  const test::TemporaryDirectory directory;
  const EntryRecord record = record_of("toy");
  Cache(in(directory.path())).publish(record.key, encode_entry(record, image_of(10)));
  ::chmod(directory.path().c_str(), 0770);
  Warnings warnings;
  Cache refused(in(directory.path()));
  EXPECT_FALSE(refused.find(record.key, record.source_digest));
  ASSERT_EQ(warnings.lines().size(), 1U);
  EXPECT_NE(warnings.lines()[0].find("chmod go-w"), std::string::npos);
  EXPECT_EQ(refused.verify().size(), 1U);
  CacheOptions trusted = in(directory.path());
  trusted.trust_shared = true;
  EXPECT_TRUE(Cache(trusted).find(record.key, record.source_digest));
  ::chmod(directory.path().c_str(), 0700);
}

TEST(Cache, IndexKeepsTheNewestCompilersFirst) {
  const test::TemporaryDirectory directory;
  const Digest source = sha256("s");
  Cache cache(in(directory.path()));
  for (int i = 0; i < 10; ++i) {
    cache.remember(
        source, {"stamp " + std::to_string(i), sha256(std::to_string(i)), {{"/x", sha256("x")}}});
  }
  cache.remember(source, {"stamp 8", sha256("8"), {}});
  const auto lines = Cache(in(directory.path())).index(source);
  ASSERT_EQ(lines.size(), 8U);
  EXPECT_EQ(lines[0].stamp, "stamp 8");
  EXPECT_EQ(lines[1].key, sha256("9"));
  EXPECT_EQ(lines[1].dependencies[0].digest, sha256("x"));
  EXPECT_EQ(cache.toolchain_identity("stamp 8"), std::nullopt);
  cache.remember_toolchain("stamp 8", sha256("compiler"));
  EXPECT_EQ(cache.toolchain_identity("stamp 8"), sha256("compiler"));
}

TEST(Cache, AnIndexThatACrashCutIsAsGoodAsNone) {
  const test::TemporaryDirectory directory;
  const Digest source = sha256("s");
  Cache cache(in(directory.path()));
  cache.remember(source, {"stamp", sha256("k"), {}});
  ASSERT_EQ(cache.index(source).size(), 1U);
  for (const auto& file : fs::recursive_directory_iterator(directory.path() + "/v1/index")) {
    if (file.is_regular_file()) fs::resize_file(file.path(), file.file_size() / 2);
  }
  EXPECT_TRUE(cache.index(source).empty());
  cache.remember(source, {"stamp", sha256("k"), {}});
  EXPECT_EQ(cache.index(source).size(), 1U);
}

TEST(Cache, SaysWhatKeepsItFromWriting) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(Cache(in(directory.path())).write_obstacle(), "");
  EXPECT_EQ(Cache(in(directory.path() + "/not/yet")).write_obstacle(), "");
  EXPECT_EQ(Cache(in("")).write_obstacle(),
            "there is no directory for kernels: HOME is not set; set KW_CACHE_DIR");
  CacheOptions reading = in(directory.path());
  reading.read_only = true;
  EXPECT_EQ(Cache(reading).write_obstacle(),
            "KW_CACHE_READONLY is set: " + directory.path() + " is not written to; unset it");
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "";
  EXPECT_EQ(Cache(in(file)).write_obstacle(), file + " is not a directory");
  EXPECT_EQ(Cache(in(file + "/below")).write_obstacle(),
            file + "/below cannot be written; set KW_CACHE_DIR to a directory that can");
}

TEST(Cache, APackThatCannotBeWrittenIsAnError) {
  const test::TemporaryDirectory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "";
  const auto entry = decode_entry(encode_entry(record_of("toy"), image_of(10)));
  test::expect_error(Code::kEnvironment, {"cannot add " + file + "/v1/", "to a pack: "},
                     [&] { add_to_pack(file, *entry); });
}

TEST(Cache, ShowsStatsAndClears) {
  const test::TemporaryDirectory directory;
  Cache cache(in(directory.path()));
  for (const char* kernel : {"one", "two"}) {
    const EntryRecord record = record_of(kernel);
    cache.publish(record.key, encode_entry(record, image_of(10)));
  }
  cache.keep_failed(test::toy_unit(), sha256("s"), "no");
  EXPECT_EQ(cache.show("kw_on").size(), 1U);
  EXPECT_EQ(cache.show(hex(record_of("two").key).substr(0, 8)).at(0).record.kernel, "two");
  EXPECT_EQ(cache.show("kw_three").size(), 0U);
  CacheStats stats = cache.stats();
  EXPECT_EQ(stats.roots.at(0).entries, 2);
  EXPECT_GT(stats.roots.at(0).bytes, 1000);
  EXPECT_EQ(stats.failed_sources, 1);
  EXPECT_EQ(cache.clear(), 2);
  stats = cache.stats();
  EXPECT_EQ(stats.roots.at(0).entries, 0);
  EXPECT_EQ(stats.failed_sources, 0);
}

TEST(Cache, KeepsAFailedSourceEvenWithoutADirectory) {
  Cache cache(CacheOptions{});
  const std::string path = cache.keep_failed(test::toy_unit(), sha256("s"), "error: no");
  ASSERT_FALSE(path.empty());
  const auto text = read_text(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find(test::toy_unit().source), 0U);
  EXPECT_NE(text->find("error: no"), std::string::npos);
  remove_file(path);
}

TEST(Cache, RacingPublishersLeaveOneWholeEntry) {
  const test::TemporaryDirectory directory;
  const EntryRecord record = record_of("toy");
  std::vector<std::jthread> threads;
  for (unsigned seed = 0; seed < 8; ++seed) {
    threads.emplace_back([&, seed] {
      Cache cache(in(directory.path()));
      for (int i = 0; i < 5; ++i) {
        cache.publish(record.key, encode_entry(record, image_of(20000, seed)));
        EXPECT_TRUE(cache.find(record.key, record.source_digest));
      }
      EXPECT_EQ(cache.counters().rejected, 0);
    });
  }
  threads.clear();
  EXPECT_EQ(Cache(in(directory.path())).list().size(), 1U);
  EXPECT_TRUE(Cache(in(directory.path())).verify().empty());
}

TEST(KeyLock, KeepsOthersOutForATimeAndDiesWithItsHolder) {
  using std::chrono::milliseconds;
  const test::TemporaryDirectory directory;
  const Digest key = sha256("k");
  {
    const KeyLock first(directory.path(), key, milliseconds{0});
    EXPECT_TRUE(first.held());
    EXPECT_FALSE(first.waited());
    const KeyLock second(directory.path(), key, milliseconds{5});
    EXPECT_FALSE(second.held());
    EXPECT_TRUE(second.waited());
    EXPECT_TRUE(KeyLock(directory.path(), sha256("another"), milliseconds{0}).held());
  }
  EXPECT_TRUE(KeyLock(directory.path(), key, milliseconds{0}).held());
  EXPECT_FALSE(KeyLock("", key, milliseconds{0}).held());
  EXPECT_FALSE(KeyLock("/nonexistent", key, milliseconds{0}).held());
}

}  // namespace
}  // namespace kw::jit
