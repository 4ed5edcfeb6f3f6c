// SPDX-License-Identifier: Apache-2.0
// A tensor in memory of its own with canaries on both sides and in every gap between its elements:
//   [>= 512 B canary][elements, gaps are canaries][>= 512 B canary]
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernelwright/core/problem.hpp"
#include "kernelwright/runtime/device.hpp"

namespace kw::suite {

// What outputs and workspace hold before a call. As floats: NaN in every type; a finite value of
// about 1e16 (f32, bf16) or 200 (f16).
inline constexpr std::uint8_t kNanPoison = 0xff;
inline constexpr std::uint8_t kFinitePoison = 0x5a;

// 128 bits over bytes, to notice a change of memory; not cryptographic.
using StorageHash = std::array<std::uint64_t, 2>;
StorageHash hash_bytes(const std::byte* data, std::size_t bytes) noexcept;

// The host edits an image; upload() and download() move it to and from the device and do nothing
// for the CPU, whose memory is the image. Elsewhere the image is made when first used, so that a
// tensor filled on the device costs the host nothing. Views and addresses are of the device.
class GuardedTensor {
 public:
  static constexpr std::int64_t kGuardBytes = 512;

  // Canaries around and between elements, whose own bytes are unspecified. The base address has
  // exactly the alignment class of `spec`; `shift`, a multiple of 16, moves it within that.
  GuardedTensor(runtime::Device& device, const TensorSpec& spec, std::uint64_t canary_key,
                std::int64_t shift = 0);

  const TensorView& view() const noexcept { return view_; }  // on the device
  TensorView host_view() const;                              // in the image
  const TensorSpec& spec() const noexcept { return spec_; }

  // Sets every byte of every element; gaps keep their canaries.
  void poison(std::uint8_t byte);
  // Elements of `source` (same spec) into this image.
  void copy_elements(const GuardedTensor& source);
  // Elements of this image to memory with the same strides, whose lowest element is at `lowest`.
  void copy_elements_to(std::byte* lowest) const;
  void upload(void* stream);
  void download(void* stream);

  // The whole allocation on the device.
  const runtime::Buffer& memory() const noexcept { return memory_; }
  // Canaries before the first and after the last element, without the image; those between
  // elements are left alone. Both wait for the stream.
  void upload_guards(void* stream);
  std::optional<std::string> guard_damage(void* stream) const;
  // Sets every byte between the guards on the device, gaps included.
  void poison_on_device(std::uint8_t byte, void* stream);

  // Of the image: elements and all canaries that are watched.
  StorageHash hash() const;
  // Bytes of the elements, in row-major order without gaps.
  std::vector<std::byte> element_bytes() const;
  // The inverse; `bytes` are as many. Throws Error(kInvalidArgument) when they are not.
  void set_element_bytes(std::span<const std::byte> bytes);
  // Says where the first byte lies that is not a canary any more.
  std::optional<std::string> damage() const;

 private:
  std::byte* image() const {
    if (on_host_) return memory_.data();
    if (host_image_.empty()) make_image();
    return host_image_.data();
  }
  void make_image() const;
  std::byte canary(std::size_t offset) const noexcept;
  void paint(std::byte* bytes, std::size_t from, std::size_t to) const;
  void find_gaps();
  std::string before_text(std::size_t at) const;
  std::string after_text(std::size_t at) const;
  template <typename Visit>
  void each_run(Visit visit) const;

  runtime::Device* device_;
  TensorSpec spec_;
  std::uint64_t key_;
  runtime::Buffer memory_;
  bool on_host_ = true;
  mutable std::vector<std::byte> host_image_;  // empty on the CPU
  std::size_t total_bytes_ = 0;
  std::size_t base_ = 0;             // offset of element 0
  std::size_t begin_ = 0, end_ = 0;  // extent of the elements
  TensorView view_;
  // Between elements, in order. Of a tensor whose elements lie far apart only the bytes beside them
  // are watched, so that a stride of 2^31 costs address space alone.
  struct Interval {
    std::size_t from = 0, to = 0;
  };
  std::vector<Interval> gaps_;
  bool sparse_ = false;
};

}  // namespace kw::suite
