// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/jit/entry_file.hpp"

#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/text.hpp"

namespace kw::jit {
namespace {

using Json = nlohmann::json;

constexpr char kMagic[8] = {'K', 'W', 'E', 'N', 'T', 'R', 'Y', '\n'};
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kHeaderBytes = 32, kChecksumBytes = 32, kImageAlignment = 64;

template <typename T>
void put(std::byte* place, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i)
    place[i] = static_cast<std::byte>(value >> (8 * i));
}

template <typename T>
T get(const std::byte* place) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value |= static_cast<T>(place[i]) << (8 * i);
  return value;
}

Json dim_json(const runtime::Dim3& dim) { return {dim.x, dim.y, dim.z}; }

runtime::Dim3 dim_of(const Json& json) {
  return {json.at(0).get<unsigned>(), json.at(1).get<unsigned>(), json.at(2).get<unsigned>()};
}

// Logs of compilers may hold any bytes; JSON holds UTF-8.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string record_json(const EntryRecord& record) {
  Json dependencies = Json::array();
  for (const Dependency& file : record.dependencies) {
    dependencies.push_back({file.path, hex(file.digest)});
  }
  return dump({{"key", hex(record.key)},
               {"source_digest", hex(record.source_digest)},
               {"kernel", record.kernel},
               {"entry", record.entry},
               {"arch", record.arch},
               {"cfg", record.cfg},
               {"toolchain", record.toolchain},
               {"flags", record.flags},
               {"source", record.source},
               {"log", record.log},
               {"registers", record.facts.registers},
               {"spill_store_bytes", record.facts.spill_store_bytes},
               {"spill_load_bytes", record.facts.spill_load_bytes},
               {"stack_bytes", record.facts.stack_bytes},
               {"static_shared_bytes", record.facts.static_shared_bytes},
               {"block", dim_json(record.shape.block)},
               {"cluster", dim_json(record.shape.cluster)},
               {"shared_bytes", record.shape.shared_bytes},
               {"cooperative", record.shape.cooperative},
               {"dependencies", dependencies},
               {"compile_ms", record.compile_ms},
               {"created", record.created}});
}

EntryRecord record_of(const Json& json) {
  EntryRecord record;
  const auto text = [&](const char* name) { return json.at(name).get<std::string>(); };
  const auto digest = [](const std::string& digits) {
    const auto parsed = parse_digest(digits);
    if (!parsed) fail(Code::kInvalidArgument, "'{}' is not a digest", digits);
    return *parsed;
  };
  record.key = digest(text("key"));
  record.source_digest = digest(text("source_digest"));
  record.kernel = text("kernel");
  record.entry = text("entry");
  record.arch = text("arch");
  record.cfg = text("cfg");
  record.toolchain = text("toolchain");
  record.flags = json.at("flags").get<std::vector<std::string>>();
  record.source = text("source");
  record.log = text("log");
  record.facts = {json.at("registers").get<int>(), json.at("spill_store_bytes").get<int>(),
                  json.at("spill_load_bytes").get<int>(), json.at("stack_bytes").get<int>(),
                  json.at("static_shared_bytes").get<int>()};
  record.shape.block = dim_of(json.at("block"));
  record.shape.cluster = dim_of(json.at("cluster"));
  record.shape.shared_bytes = json.at("shared_bytes").get<unsigned>();
  record.shape.cooperative = json.at("cooperative").get<bool>();
  for (const Json& file : json.at("dependencies")) {
    record.dependencies.push_back(
        {file.at(0).get<std::string>(), digest(file.at(1).get<std::string>())});
  }
  record.compile_ms = json.at("compile_ms").get<double>();
  record.created = json.at("created").get<std::int64_t>();
  return record;
}

// "" when the frame holds together, else what is wrong with it.
std::string frame_problem(std::span<const std::byte> file) {
  if (file.size() < kHeaderBytes + kChecksumBytes) return "too short for an entry";
  if (std::memcmp(file.data(), kMagic, sizeof kMagic) != 0) return "not an entry file";
  const auto format = get<std::uint32_t>(file.data() + 8);
  if (format != kFormat)
    return "of format " + std::to_string(format) + ", which this build cannot read";
  const std::size_t room = file.size() - kHeaderBytes - kChecksumBytes;
  const auto metadata = get<std::uint64_t>(file.data() + 16);
  const auto image = get<std::uint64_t>(file.data() + 24);
  if (metadata > room || image != room - metadata) return "of the wrong length";
  const Digest sum = checksum(file.first(file.size() - kChecksumBytes));
  if (std::memcmp(file.data() + file.size() - kChecksumBytes, sum.data(), kChecksumBytes) != 0) {
    return "altered: its checksum does not match";
  }
  return "";
}

std::string dim_text(const runtime::Dim3& dim) {
  return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z);
}

std::string fact_text(int value) { return value < 0 ? "unknown" : std::to_string(value); }

}  // namespace

PlanFacts facts_of(const EntryRecord& record, const runtime::LaunchShape& shape) {
  return {{"kernel", record.kernel},
          {"entry", record.entry},
          {"cfg", record.cfg},
          {"arch", record.arch},
          {"block", dim_text(shape.block)},
          {"cluster", dim_text(shape.cluster)},
          {"shared_bytes", std::to_string(shape.shared_bytes)},
          {"source_digest", hex(record.source_digest)},
          {"key", hex(record.key)},
          {"toolchain", record.toolchain},
          {"flags", join(record.flags, " ")},
          {"registers", fact_text(record.facts.registers)},
          {"spill_store_bytes", fact_text(record.facts.spill_store_bytes)},
          {"spill_load_bytes", fact_text(record.facts.spill_load_bytes)},
          {"stack_bytes", fact_text(record.facts.stack_bytes)},
          {"static_shared_bytes", fact_text(record.facts.static_shared_bytes)},
          {"compile_ms", fmt::format("{:.3f}", record.compile_ms)}};
}

std::vector<std::byte> encode_entry(const EntryRecord& record, std::span<const std::byte> image) {
  std::string metadata = record_json(record);
  while ((kHeaderBytes + metadata.size()) % kImageAlignment != 0) metadata += ' ';
  std::vector<std::byte> file(kHeaderBytes + metadata.size() + image.size() + kChecksumBytes);
  std::memcpy(file.data(), kMagic, sizeof kMagic);
  put<std::uint32_t>(file.data() + 8, kFormat);
  put<std::uint64_t>(file.data() + 16, metadata.size());
  put<std::uint64_t>(file.data() + 24, image.size());
  std::memcpy(file.data() + kHeaderBytes, metadata.data(), metadata.size());
  if (!image.empty()) {
    std::memcpy(file.data() + kHeaderBytes + metadata.size(), image.data(), image.size());
  }
  const Digest sum = checksum(std::span(file).first(file.size() - kChecksumBytes));
  std::memcpy(file.data() + file.size() - kChecksumBytes, sum.data(), kChecksumBytes);
  return file;
}

std::optional<Entry> decode_entry(std::vector<std::byte> file, std::string* why) {
  std::string problem = frame_problem(file);
  if (problem.empty()) {
    const auto metadata = static_cast<std::size_t>(get<std::uint64_t>(file.data() + 16));
    const auto image = static_cast<std::size_t>(get<std::uint64_t>(file.data() + 24));
    const auto* text = reinterpret_cast<const char*>(file.data() + kHeaderBytes);
    try {
      Entry entry;
      entry.record = record_of(Json::parse(text, text + metadata));
      entry.file = std::move(file);
      entry.image = std::span(entry.file).subspan(kHeaderBytes + metadata, image);
      return entry;
    } catch (const std::exception& error) {
      problem = std::string("of unreadable metadata: ") + error.what();
    }
  }
  if (why != nullptr) *why = problem;
  return std::nullopt;
}

}  // namespace kw::jit
