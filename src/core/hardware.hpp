// SPDX-License-Identifier: Apache-2.0
// The hardware vocabulary, and the little that core asks of a device. runtime::Device implements
// the port; core itself touches no device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

// NPUs are in the vocabulary for configuration and plugins; no backend in the tree serves them.
enum class DeviceKind : std::uint8_t { kCpu, kCuda, kNpu };
enum class Mode : std::uint8_t { kEager, kGraph };

std::string_view device_kind_name(DeviceKind kind) noexcept;
std::string_view mode_name(Mode mode) noexcept;
// Throw Error(kNotFound) listing what exists.
DeviceKind parse_device_kind(std::string_view name);
Mode parse_mode(std::string_view name);

struct Hardware {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  std::string model;  // "Intel(R) Xeon(R) ...", "NVIDIA H200"
  // CUDA: 10 * major + minor. CPU: 1 baseline, 2 AVX2+FMA+F16C, 3 AVX-512 (F, BW, CD, DQ, VL).
  int capability = 0;
  int units = 1;  // threads to use, or multiprocessors
  std::int64_t last_level_cache_bytes = 0;
  std::vector<std::string> features;  // "avx2", "avx512f", ...
};

// "2 (avx2)", "sm_90": a capability in the words of its device.
std::string capability_text(DeviceKind kind, int capability);

class DevicePort;

// Scratch memory of a caller that has an allocator of its own, as PyTorch's.
class WorkspaceSource {
 public:
  virtual ~WorkspaceSource() = default;
  // At least `bytes`, aligned to kWorkspaceAlignment, the first `zeroed_bytes` zero in order with
  // the call's stream, and valid until what the call enqueued has run; null when it has none.
  virtual void* take(std::int64_t bytes, std::int64_t zeroed_bytes) noexcept = 0;
};

// Where a call is enqueued. A null port means the context's own device and its default stream; a
// null workspace that the port's pool serves, which grows while preparing.
struct Stream {
  DevicePort* port = nullptr;
  void* handle = nullptr;
  WorkspaceSource* workspace = nullptr;
};

class DevicePort {
 public:
  virtual ~DevicePort() = default;
  virtual const Hardware& hardware() const noexcept = 0;
  // Asked on a miss only.
  virtual bool is_capturing(void* stream) const noexcept = 0;
  // Makes at least `bytes` of workspace, the first `zeroed_bytes` of it zero, available on
  // `stream`; called while preparing. Throws Error(kEnvironment) when memory is short.
  virtual void reserve_workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) = 0;
  // The workspace of `stream` if it holds at least `bytes` with the first `zeroed_bytes` zero, as
  // reserved; else null. Called on the hot path.
  virtual void* workspace(void* stream, std::int64_t bytes, std::int64_t zeroed_bytes) noexcept = 0;
};

}  // namespace kw
