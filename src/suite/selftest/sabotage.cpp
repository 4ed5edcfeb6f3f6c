// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/selftest/sabotage.hpp"

namespace kw::suite {
namespace {

constexpr std::string_view kPlain = "affine/one x=bf16[16,64] gain=bf16[64] want_total=true";
constexpr std::string_view kFloat = "affine/one x=f32[16,64] gain=f32[64]";
constexpr std::string_view kTwo = "affine/two x=bf16[16,64] gain=bf16[64]";
constexpr std::string_view kLarge = "affine/one x=bf16[64,512] gain=bf16[512] want_total=true";
constexpr std::string_view kOdd = "affine/one x=bf16[16,67] gain=bf16[67]";
constexpr std::string_view kPitched = "affine/one x=bf16[16,64]:[80,1] gain=bf16[64]";
constexpr std::string_view kTall = "affine/one x=f16[300,32] gain=f16[32]";
// The third row begins 2^31 elements from the first.
constexpr std::string_view kFar = "affine/one x=bf16[3,64]:[1073741824,1] gain=bf16[64]";
constexpr std::string_view kBackward =
    "affine_backward/one dy=bf16[16,64] x=bf16[16,64] gain=bf16[64] total=f32[64]";
constexpr std::string_view kGather = "gather/rows x=f32[24,32] index=i32[24]";
constexpr std::string_view kUpdate = "update/sum state=f32[16,64] x=f32[16,64]";

Saboteur value(Sabotage sabotage, std::string_view what, std::vector<Reason> codes,
               std::string_view problem = kPlain, Fill fill = Fill::kNormal) {
  return {sabotage, what, problem, fill, std::move(codes), false, false};
}
Saboteur paged(Sabotage sabotage, std::string_view what, std::vector<Reason> codes,
               std::string_view problem = kPlain) {
  return {sabotage, what, problem, Fill::kNormal, std::move(codes), false, true};
}
Saboteur streamed(Sabotage sabotage, std::string_view what, std::vector<Reason> codes) {
  return {sabotage, what, kFloat, Fill::kNormal, std::move(codes), true, false};
}

}  // namespace

std::string_view Saboteur::not_on_device() const noexcept {
  switch (sabotage) {
    case Sabotage::kMutatesAndRestores:
      return "memory there is not read-only";
    case Sabotage::kNarrowOffset:
      return "its gigabytes between rows are memory there";
    case Sabotage::kChangesDevice:
      return "needs another vendor's call";
    case Sabotage::kKeepsArguments:
      return "host arguments are out of reach of a kernel";
    default:
      return "";
  }
}

const std::vector<Saboteur>& saboteurs() {
  using enum Sabotage;
  using R = Reason;
  static const std::vector<Saboteur> table{
      value(kZeros, "the output is zero", {R::kNumericMismatch}),
      value(kCopyInput, "the output is the input", {R::kNumericMismatch}),
      value(kPermutedRows, "every row is its neighbour's", {R::kNumericMismatch}),
      value(kExtraRounding, "an intermediate is rounded to storage", {R::kNumericMismatch}, kLarge),
      value(kMissingRounding, "the variant's own rounding is left out", {R::kNumericMismatch},
            kTwo),
      value(kTruncate, "rounds towards zero", {R::kNumericMismatch, R::kBias}, kLarge),
      value(kScale, "all values are 0.1 % too small", {R::kNumericMismatch, R::kBias}, kLarge),
      value(kOneElement, "one element is 1 % off", {R::kNumericMismatch}),
      value(kNarrowAccumulator, "a sum is kept in bf16", {R::kNumericMismatch}, kLarge),
      value(kNarrowFactors, "f32 factors lose 13 bits", {R::kNumericMismatch}, kFloat),
      value(kOffByOneIndex, "each column takes the next one's factor", {R::kNumericMismatch}),
      value(kWrongWeightType, "the weight is read as another 16-bit type", {R::kNumericMismatch}),
      value(kDropsContribution, "a sum leaves one row out", {R::kNumericMismatch}, kLarge),
      value(kWrongOddWidth, "the last column of odd widths is wrong", {R::kNumericMismatch}, kOdd),
      value(kWrongFarRows, "rows from 256 on are wrong", {R::kNumericMismatch}, kTall),
      value(kSwallowNan, "NaN becomes 0", {R::kNonfiniteMismatch}, kPlain, Fill::kNanRow),
      value(kSpreadNan, "a NaN row spoils its neighbour", {R::kNonfiniteMismatch}, kPlain,
            Fill::kNanRow),
      value(kNanEverywhere, "the output is NaN", {R::kNonfiniteMismatch}),
      value(kWrongEmpty, "a call without rows leaves a sum as it was", {R::kNumericMismatch}),
      value(kWrongGradient, "a gradient misses a term", {R::kGradient}, kBackward),
      value(kNegatedGradient, "a gradient has the wrong sign", {R::kGradient}, kBackward),

      value(kSkipLastRow, "the last row is not written", {R::kUnwrittenOutput}),
      value(kSkipTotal, "an optional output is not written", {R::kUnwrittenOutput}),
      value(kWritesHalf, "half of the output is not written", {R::kUnwrittenOutput}),
      value(kSkipsTail, "what exceeds whole vectors of 8 is not written", {R::kUnwrittenOutput},
            kOdd),
      value(kMutateInput, "one bit of an input changes", {R::kUndeclaredMutation}),
      value(kZeroInput, "an input is zero afterwards", {R::kUndeclaredMutation}),
      paged(kMutatesAndRestores, "an input changes during the call only", {R::kUndeclaredMutation}),
      value(kWriteBefore, "writes the byte before the output", {R::kOobWrite}),
      value(kWriteAfter, "writes the byte after the output", {R::kOobWrite}),
      value(kWriteGap, "writes between the rows of a strided output", {R::kOobWrite}),
      value(kTailOverNextRow, "the last vector of a row reaches into the next",
            {R::kOobWrite, R::kNumericMismatch}, kOdd),
      paged(kReadBefore, "reads the element before an input", {R::kOobRead}),
      paged(kReadAfter, "reads the element after an input", {R::kOobRead}),
      paged(kNarrowOffset, "row offsets wrap at 2^31 elements", {R::kOobRead, R::kCrash}, kFar),
      value(kWrongStride, "reads a strided input as if it were dense",
            {R::kNumericMismatch, R::kNonfiniteMismatch}, kPitched),
      value(kReadsOutput, "adds to what the output held", {R::kReadsUninitialised}),
      value(kReadsWorkspace, "adds what the workspace held", {R::kReadsUninitialised}),
      value(kWorkspaceOverflow, "writes behind the workspace", {R::kOobWrite}),
      value(kWorkspaceDirty, "leaves a zeroed workspace dirty", {R::kUndeclaredMutation}),

      value(kIgnoresIndex, "rows stay where they are", {R::kNumericMismatch}, kGather),
      value(kClampsIndex, "the last row is never taken", {R::kNumericMismatch}, kGather),
      value(kFlushesSubnormals, "a copy flushes subnormals to zero", {R::kNumericMismatch}, kGather,
            Fill::kTiny),
      value(kLeavesState, "a state is not updated", {R::kMissingMutation}, kUpdate),
      value(kUpdatesTwice, "a state is updated twice", {R::kNumericMismatch}, kUpdate),

      value(kBatchDependent, "bits change from 4 rows on", {R::kBatchVariant}, kFloat),
      value(kNondeterministic, "bits change from call to call", {R::kNondeterministic}, kFloat),
      value(kPositionDependent, "odd rows have other bits than even ones", {R::kMetamorphic},
            kFloat),
      value(kPlacementDependent, "bits depend on the address", {R::kPlacementVariant}, kFloat),

      value(kMemoByAddress, "answers again what was at this address", {R::kStaleReplay}),
      value(kMemoByShape, "answers again what had this shape", {R::kStaleReplay}),
      value(kWarmupOnly, "computes nothing after 150 calls", {R::kStaleReplay}),

      value(kFailLaunch, "refuses what it declared", {R::kRejectedValid}),
      value(kThrowPrepare, "cannot prepare what it declared", {R::kRejectedValid}),
      value(kGrowingWorkspace, "wants more workspace for fewer rows", {R::kImpureDecision}),
      value(kLeaksHost, "keeps 4 KB of host memory a call", {R::kMemoryGrowth}),
      value(kChangesDevice, "leaves another current device", {R::kWrongDevice}),

      streamed(kLeaksDevice, "keeps 1 MB of device memory a call", {R::kMemoryGrowth}),
      streamed(kSideStream, "works on a stream of its own", {R::kWrongStream}),
      streamed(kUnorderedStream, "its stream waits for the work, which waits for nothing",
               {R::kWrongStream}),
      streamed(kDefaultStream, "works on the default stream", {R::kWrongStream}),
      streamed(kEscapes, "its last work is on a stream that nobody waits for", {R::kEscapedWork}),
      streamed(kDeferred, "does the work when it is called next",
               {R::kUnwrittenOutput, R::kNondeterministic}),
      streamed(kSyncsHost, "waits for its stream", {R::kSyncsHost}),
      streamed(kSharedArguments, "keeps arguments in the plan until the work runs",
               {R::kThreadUnsafe, R::kProducerRace}),
      streamed(kKeepsArguments, "reads the host's arguments when the work runs", {R::kLifetime}),
      streamed(kGraphDrops, "every second captured call is not in the graph",
               {R::kGraphCallDropped}),
      streamed(kCaptureEager, "does captured work at once", {R::kCaptureDroppedWork}),
      streamed(kCaptureAllocates, "allocates while captured", {R::kCaptureFailed}),
      streamed(kGraphKeepsValues, "a graph keeps the captured inputs", {R::kStaleReplay}),
      streamed(kGraphRunsOnce, "a graph works the first time only", {R::kStaleReplay}),
      streamed(kLazyAllocates, "the first launch allocates", {R::kLazyInit}),
      streamed(kFirstDevice, "always works on the first device", {R::kWrongDevice}),
  };
  return table;
}

}  // namespace kw::suite
