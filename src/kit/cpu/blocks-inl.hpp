// SPDX-License-Identifier: Apache-2.0
// Loads and stores of f32, f16 and bf16 as blocks of two f32 vectors, and rounding to the narrow
// formats. Compiled once per Highway target (toggled guard below). Knows no tensor and no operator.
#if defined(KW_KIT_CPU_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef KW_KIT_CPU_BLOCKS_INL
#undef KW_KIT_CPU_BLOCKS_INL
#else
#define KW_KIT_CPU_BLOCKS_INL
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernelwright/kit/cpu/element.hpp"

HWY_BEFORE_NAMESPACE();
namespace kw::kit::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using U32 = hn::RebindToUnsigned<F32>;
using U64 = hn::Repartition<std::uint64_t, F32>;
using U16 = hn::Repartition<std::uint16_t, F32>;  // a full vector of 16-bit lanes
using U8 = hn::Repartition<std::uint8_t, F32>;
using U16Half = hn::Rebind<std::uint16_t, F32>;  // as many lanes as F32
using F16Half = hn::Rebind<hwy::float16_t, F32>;
using Vec = hn::Vec<F32>;

inline constexpr std::size_t kLanes = HWY_LANES(float);
inline constexpr std::size_t kBlock = 2 * kLanes;
inline constexpr std::size_t kVectorBytes = kLanes * sizeof(float);

// kBlock consecutive elements. bf16 is split into even (a) and odd (b) elements: a shift and a mask
// instead of lane-crossing shuffles; the others into first and second half. Sums do not care, and
// an operand of another format is brought into the same order through `kOrder`.
struct Block {
  Vec a, b;
};

template <Element kOrder>
inline constexpr bool kEvenOdd = kOrder == Element::kBF16;

template <Element kElement, Element kOrder = kElement>
HWY_INLINE Block load(const Storage<kElement>* from) {
  static_assert(kElement == kOrder || kElement == Element::kF32);
  const F32 f32;
  if constexpr (kElement == Element::kBF16) {
    const auto bits = hn::BitCast(U32(), hn::LoadU(U16(), from));
    return {hn::BitCast(f32, hn::ShiftLeft<16>(bits)),
            hn::BitCast(f32, hn::And(bits, hn::Set(U32(), 0xffff0000U)))};
  } else if constexpr (kElement == Element::kF16) {
    const auto* half = reinterpret_cast<const hwy::float16_t*>(from);
    return {hn::PromoteTo(f32, hn::LoadU(F16Half(), half)),
            hn::PromoteTo(f32, hn::LoadU(F16Half(), half + kLanes))};
  } else if constexpr (kEvenOdd<kOrder>) {
    Block block;
    hn::LoadInterleaved2(f32, from, block.a, block.b);
    return block;
  } else {
    return {hn::LoadU(f32, from), hn::LoadU(f32, from + kLanes)};
  }
}

// Which NaNs may be among the lanes that are rounded. kNarrow: their payload is one of a bf16, as
// in everything computed from bf16 operands; rounding then cannot carry out of a NaN and needs no
// test.
enum class Nans { kAny, kNarrow };

// Bits whose upper half is the bf16 nearest to each lane, ties to even (Highway's own demotion
// truncates). The lower half is not cleared. Lanes are results of arithmetic, whose NaNs are quiet.
template <Nans kNans>
HWY_INLINE hn::Vec<U32> round_bf16_bits(Vec value) {
  const U32 u32;
  const auto bits = hn::BitCast(u32, value);
#if HWY_TARGET <= HWY_AVX3  // three operations instead of four
  const auto odd = hn::TestBit(bits, hn::Set(u32, 0x10000));
  auto bias = hn::IfThenElse(odd, hn::Set(u32, 0x8000), hn::Set(u32, 0x7fff));
#else
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(u32, 1));
  auto bias = hn::Add(odd, hn::Set(u32, 0x7fff));
#endif
  if constexpr (kNans == Nans::kAny) {
    bias = hn::IfThenElseZero(hn::RebindMask(u32, hn::Eq(value, value)), bias);
  }
  return hn::Add(bits, bias);
}

// The bf16 nearest to each lane of a block of even and odd elements, in the order of memory.
template <Nans kNans>
HWY_INLINE hn::Vec<U16> pack_bf16(Block block) {
  const U16 u16;
#if HWY_TARGET <= HWY_AVX3
  // Upper and lower halves are packed first and rounded at once: 5 operations instead of 8 for the
  // two ports that take whole vectors. Intrinsics, for g++ 12 leaves a shuffle and a choice apart.
  if constexpr (kNans == Nans::kNarrow) {
    alignas(16) static constexpr std::uint8_t kSwapHalves[16] = {2,  3,  0, 1, 6,  7,  4,  5,
                                                                 10, 11, 8, 9, 14, 15, 12, 13};
    const auto swap = hn::LoadDup128(U8(), kSwapHalves).raw;
    const auto a = hn::BitCast(u16, block.a).raw, b = hn::BitCast(u16, block.b).raw;
    const hn::Vec<U16> upper{_mm512_mask_shuffle_epi8(b, 0x3333333333333333U, a, swap)};
    const hn::Vec<U16> lower{_mm512_mask_shuffle_epi8(a, 0xccccccccccccccccU, b, swap)};
    const auto one = hn::Set(u16, 1);
    const auto up = hn::Gt(hn::OrAnd(lower, upper, one), hn::Set(u16, 0x8000));  // ties to even
    return hn::IfThenElse(up, hn::Add(upper, one), upper);
  }
#endif
  const auto even = hn::ShiftRight<16>(round_bf16_bits<kNans>(block.a));
  const auto odd = round_bf16_bits<kNans>(block.b);
  return hn::OddEven(hn::BitCast(u16, odd), hn::BitCast(u16, even));
}

// The value of each lane after a round trip through `kElement`.
template <Element kElement, Nans kNans = Nans::kAny>
HWY_INLINE Vec round_to(Vec value) {
  if constexpr (kElement == Element::kBF16) {
    return hn::BitCast(F32(), hn::And(round_bf16_bits<kNans>(value), hn::Set(U32(), 0xffff0000U)));
  } else if constexpr (kElement == Element::kF16) {
    return hn::PromoteTo(F32(), hn::DemoteTo(F16Half(), value));
  } else {
    return value;
  }
}

template <Element kElement, Nans kNans = Nans::kAny>
HWY_INLINE Block round_to(Block block) {
  return {round_to<kElement, kNans>(block.a), round_to<kElement, kNans>(block.b)};
}

// kStream bypasses the caches; `to` must then be aligned to a vector, and the thread that stored
// calls stream_fence() before others may read.
template <Element kElement, Element kOrder = kElement, bool kStream = false,
          Nans kNans = Nans::kAny>
HWY_INLINE void store(Block block, Storage<kElement>* to) {
  static_assert(kElement == kOrder || (kElement == Element::kF32 && !kStream));
  const F32 f32;
  if constexpr (kElement == Element::kF32 && kEvenOdd<kOrder>) {
    hn::StoreInterleaved2(block.a, block.b, f32, to);
  } else if constexpr (kElement == Element::kF32) {
    if constexpr (kStream) {
      hn::Stream(block.a, f32, to);
      hn::Stream(block.b, f32, to + kLanes);
    } else {
      hn::StoreU(block.a, f32, to);
      hn::StoreU(block.b, f32, to + kLanes);
    }
  } else {
    const U16 u16;
    hn::Vec<U16> packed;
    if constexpr (kElement == Element::kBF16) {
      packed = pack_bf16<kNans>(block);
    } else {
      packed = hn::Combine(u16, hn::BitCast(U16Half(), hn::DemoteTo(F16Half(), block.b)),
                           hn::BitCast(U16Half(), hn::DemoteTo(F16Half(), block.a)));
    }
    if constexpr (kStream) {
      hn::Stream(packed, u16, to);
    } else {
      hn::StoreU(packed, u16, to);
    }
  }
}

// Starts fetching the cache lines of a block. Any address is legal.
template <Element kElement>
HWY_INLINE void prefetch(const Storage<kElement>* block) {
  hwy::Prefetch(block);
  if constexpr (kBlock * sizeof(*block) > 64) hwy::Prefetch(block + 64 / sizeof(*block));
}

HWY_INLINE void stream_fence() { hwy::FlushStream(); }

// The first `count` elements of a block; the others read as zero, and their memory is not touched.
template <Element kElement, Element kOrder = kElement>
HWY_INLINE Block load_first(const Storage<kElement>* from, std::size_t count) {
  HWY_ALIGN Storage<kElement> whole[kBlock];
#if HWY_MEM_OPS_MIGHT_FAULT  // AVX2 has no masked access to 16-bit lanes
  std::memset(whole, 0, sizeof(whole));
  if (count > 0) std::memcpy(whole, from, count * sizeof(whole[0]));
#else
  const hn::ScalableTag<Storage<kElement>> tag;
  for (std::size_t i = 0; i < kBlock; i += hn::Lanes(tag)) {
    const auto mask = hn::FirstN(tag, count > i ? count - i : 0);
    hn::Store(hn::MaskedLoad(mask, tag, from + i), tag, whole + i);
  }
#endif
  return load<kElement, kOrder>(whole);
}

template <Element kElement, Element kOrder = kElement>
HWY_INLINE void store_first(Block block, Storage<kElement>* to, std::size_t count) {
  HWY_ALIGN Storage<kElement> whole[kBlock];
  store<kElement, kOrder>(block, whole);
#if HWY_MEM_OPS_MIGHT_FAULT
  if (count > 0) std::memcpy(to, whole, count * sizeof(whole[0]));
#else
  const hn::ScalableTag<Storage<kElement>> tag;
  for (std::size_t i = 0; i < kBlock; i += hn::Lanes(tag)) {
    const auto mask = hn::FirstN(tag, count > i ? count - i : 0);
    hn::BlendedStore(hn::Load(tag, whole + i), mask, tag, to + i);
  }
#endif
}

}  // namespace kw::kit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggled guard
