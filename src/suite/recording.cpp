// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/recording.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "kernelwright/base/fail.hpp"
#include "kernelwright/base/sha256.hpp"
#include "kernelwright/base/text.hpp"
#include "kernelwright/suite/inputs.hpp"
#include "kernelwright/suite/operand.hpp"
#include "kernelwright/suite/report_document.hpp"
#include "kernelwright/suite/report_file.hpp"
#include "kernelwright/suite/runner.hpp"

namespace kw::suite {
namespace {

constexpr std::string_view kMagic = "kw.tensors/1";
constexpr std::size_t kDigestText = 64;
constexpr double kReplayMemory = 4e9;  // of the host; recordings are far smaller

Reason parse_reason(const std::string& name) {
  for (std::size_t i = 0; i < kNumReasons; ++i) {
    if (reason_name(static_cast<Reason>(i)) == name) return static_cast<Reason>(i);
  }
  fail(Code::kInvalidArgument, "the reason code '{}' is not one of this build", name);
}

Json header_of(const RecordedCase& recorded) {
  Json tensors = Json::array();
  for (const RecordedTensor& tensor : recorded.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", dtype_name(tensor.dtype)},
                       {"bytes", tensor.bytes.size()}});
  }
  return {{"id", recorded.id},
          {"implementation", recorded.how.implementation},
          {"device", recorded.how.device},
          {"mode", mode_name(recorded.how.mode)},
          {"pins", recorded.how.pins},
          {"repeats", recorded.how.repeats},
          {"problem", recorded.problem},
          {"fill", recorded.fill},
          {"seed", recorded.seed},
          {"reason", reason_name(recorded.reason)},
          {"message", recorded.message},
          {"tensors", std::move(tensors)}};
}

RecordedCase read_header(const Json& header) {
  RecordedCase recorded;
  recorded.id = header.at("id");
  recorded.how.implementation = header.at("implementation");
  recorded.how.device = header.at("device");
  recorded.how.mode = parse_mode(header.at("mode").get<std::string>());
  recorded.how.pins = header.at("pins").get<std::map<std::string, std::string>>();
  recorded.how.repeats = header.at("repeats");
  recorded.problem = header.at("problem");
  recorded.fill = header.at("fill");
  recorded.seed = header.at("seed");
  recorded.reason = parse_reason(header.at("reason"));
  recorded.message = header.at("message");
  return recorded;
}

bool is_failure(const CaseResult& result) noexcept {
  return result.status == CaseStatus::kFailed || result.status == CaseStatus::kError;
}

double input_bytes(const Problem& problem) {
  double bytes = 0;
  for (const Operand& operand : operands_of(problem)) {
    if (operand.is_read())
      bytes += static_cast<double>(operand.spec.numel()) *
               static_cast<double>(dtype_bytes(operand.spec.dtype));
  }
  return bytes;
}

RecordedCase record(const CaseResult& result, const Problem& problem,
                    const NumericsRequest& request, const Platform& platform) {
  RecordedCase recorded;
  recorded.id = result.id;
  recorded.problem = result.problem;
  recorded.fill = fill_name(result.fill);
  recorded.seed = result.seed;
  recorded.how = {result.implementation, device_flag(platform.device.hardware()), request.mode,
                  request.pins, request.repeats};
  recorded.reason = result.reason;
  recorded.message = result.message;
  PlacedTensors placed(platform.device, problem, result.seed);
  fill_inputs(placed, problem, result.fill, result.seed, platform.catalog);
  for (std::size_t i = 0; i < placed.operands().size(); ++i) {
    const Operand& operand = placed.operands()[i];
    if (operand.is_read())
      recorded.tensors.push_back({operand.name, operand.spec.dtype, placed[i].element_bytes()});
  }
  return recorded;
}

// Of the folder that recordings lie in, beside the report.
std::filesystem::path folder_of(const std::string& report_path) {
  std::filesystem::path folder(report_path);
  return folder.replace_extension(".tensors");
}

}  // namespace

std::string recording_text(const RecordedCase& recorded) {
  std::string rest =
      header_of(recorded).dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  for (const RecordedTensor& tensor : recorded.tensors)
    rest.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return std::string(kMagic) + ' ' + hex(sha256(rest)) + '\n' + rest;
}

RecordedCase parse_recording(const std::string& text, const std::string& source) {
  const std::size_t first = kMagic.size() + 1 + kDigestText;
  if (!text.starts_with(kMagic) || text.size() <= first || text[first] != '\n')
    fail(Code::kInvalidArgument, "'{}' is no recording of a case: it does not begin with {}",
         source, kMagic);
  const std::string_view rest = std::string_view(text).substr(first + 1);
  if (hex(sha256(rest)) != text.substr(kMagic.size() + 1, kDigestText))
    fail(Code::kInvalidArgument, "'{}' is damaged: its bytes are not those that were written",
         source);
  const std::size_t line = rest.find('\n');
  try {
    const Json header = Json::parse(rest.substr(0, line));
    RecordedCase recorded = read_header(header);
    std::size_t at = line + 1;
    for (const Json& entry : header.at("tensors")) {
      const auto size = entry.at("bytes").get<std::size_t>();
      const auto dtype = parse_dtype(entry.at("dtype").get<std::string>());
      if (!dtype || size > rest.size() - at)
        fail(Code::kInvalidArgument, "'{}': its tensors do not fit its header", source);
      RecordedTensor tensor{entry.at("name"), *dtype, std::vector<std::byte>(size)};
      std::memcpy(tensor.bytes.data(), rest.data() + at, size);
      at += size;
      recorded.tensors.push_back(std::move(tensor));
    }
    return recorded;
  } catch (const Json::exception& error) {
    fail(Code::kInvalidArgument, "'{}' has another header than this build reads: {}", source,
         error.what());
  }
}

void record_failures(NumericsReport& report, const NumericsRequest& request,
                     const Platform& platform, const std::string& report_path, std::int64_t limit) {
  const std::filesystem::path folder = folder_of(report_path);
  auto room = static_cast<double>(limit);
  for (CaseResult& result : report.cases) {
    if (!is_failure(result)) continue;
    try {
      const Problem problem = parse_problem(result.problem, platform.catalog);
      const double bytes = input_bytes(problem);
      if (bytes > room) {
        result.recording.omitted =
            fmt::format("needs {:.1f} MB; {:.1f} of the {:.0f} MB of a report are left",
                        bytes * 1e-6, room * 1e-6, static_cast<double>(limit) * 1e-6);
        continue;
      }
      const std::string text = recording_text(record(result, problem, request, platform));
      std::filesystem::create_directories(folder);
      const std::string name = result.id + "-" + result.implementation + ".kwcase";
      write_whole(text, folder / name);
      room -= bytes;
      result.recording.file = folder.filename() / name;
      result.recording.sha256 = hex(sha256(text));
      result.recording.bytes = static_cast<std::int64_t>(text.size());
    } catch (const std::exception& error) {
      result.recording.omitted = error.what();
    }
  }
}

std::vector<RecordedCase> load_recordings(const std::string& path, const std::string& id) {
  const std::string text = read_whole(path);
  if (text.starts_with(kMagic)) {
    RecordedCase recorded = parse_recording(text, path);
    if (!id.empty() && id != recorded.id)
      fail(Code::kNotFound, "'{}' is a recording of case {}, not of '{}'", path, recorded.id, id);
    return {std::move(recorded)};
  }
  const Json document = parse_document(text, path);
  std::vector<RecordedCase> found;
  std::vector<std::string> recorded_ids;
  std::string why;
  for (const Json& entry : document.value("cases", Json::array())) {
    const std::string own = text_at(entry, "id");
    const Json tensors = entry.value("tensors", Json::object());
    const std::string file = text_at(tensors, "file");
    if (!file.empty()) recorded_ids.push_back(own);
    if (!id.empty() && own != id) continue;
    if (file.empty()) {
      const std::string omitted = text_at(tensors, "omitted");
      why = omitted.empty() ? "it is " + text_at(entry, "status") : omitted;
      continue;
    }
    const std::filesystem::path place = std::filesystem::path(path).parent_path() / file;
    const std::string bytes = read_whole(place);
    if (hex(sha256(bytes)) != text_at(tensors, "sha256"))
      fail(Code::kInvalidArgument, "'{}' is damaged: its SHA-256 is not the one in '{}'",
           place.string(), path);
    found.push_back(parse_recording(bytes, place));
  }
  if (!found.empty()) return found;
  const std::string others =
      recorded_ids.empty() ? "nothing is recorded in it" : "recorded are " + join(recorded_ids);
  if (!id.empty() && !why.empty())
    fail(Code::kNotFound, "case '{}' of '{}' has no recorded tensors: {}; {}", id, path, why,
         others);
  if (!id.empty()) fail(Code::kNotFound, "'{}' has no case '{}'; {}", path, id, others);
  fail(Code::kNotFound,
       "'{}' has no failed case with recorded tensors; `kw numerics --output FILE.json` records "
       "them",
       path);
}

CaseResult replay_case(const RecordedCase& recorded, const Platform& platform) {
  Case spec{parse_problem(recorded.problem, platform.catalog), parse_fill(recorded.fill),
            recorded.seed};
  spec.recorded = std::make_shared<const std::vector<RecordedTensor>>(recorded.tensors);
  Request request;
  request.operation = spec.problem.operation();
  request.implementation = recorded.how.implementation;
  request.mode = recorded.how.mode;
  request.pins = recorded.how.pins;
  const Target target = find_targets(request, platform).front();
  return TargetRunner(target, request, platform, recorded.how.repeats, kReplayMemory).run(spec);
}

}  // namespace kw::suite
