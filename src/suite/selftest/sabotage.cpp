// SPDX-License-Identifier: Apache-2.0
#include "kernelwright/suite/selftest/sabotage.hpp"

namespace kw::suite {
namespace {

constexpr std::string_view kPlain = "affine/one x=bf16[16,64] gain=bf16[64] want_total=true";
constexpr std::string_view kFloat = "affine/one x=f32[16,64] gain=f32[64]";
constexpr std::string_view kTwo = "affine/two x=bf16[16,64] gain=bf16[64]";
constexpr std::string_view kLarge = "affine/one x=bf16[64,512] gain=bf16[512] want_total=true";
constexpr std::string_view kOdd = "affine/one x=bf16[16,67] gain=bf16[67]";
constexpr std::string_view kTall = "affine/one x=f16[300,32] gain=f16[32]";
// The third row begins 2^31 elements from the first.
constexpr std::string_view kFar = "affine/one x=bf16[3,64]:[1073741824,1] gain=bf16[64]";
constexpr std::string_view kBackward =
    "affine_backward/one dy=bf16[16,64] x=bf16[16,64] gain=bf16[64] total=f32[64]";
constexpr std::string_view kGather = "gather/rows x=f32[24,32] index=i32[24]";
constexpr std::string_view kUpdate = "update/sum state=f32[16,64] x=f32[16,64]";

Saboteur value(Sabotage sabotage, std::string_view name, std::string_view what,
               std::vector<Reason> codes, std::string_view problem = kPlain,
               Fill fill = Fill::kNormal) {
  return {sabotage, name, what, problem, fill, std::move(codes), false, false};
}
Saboteur paged(Sabotage sabotage, std::string_view name, std::string_view what,
               std::vector<Reason> codes, std::string_view problem = kPlain) {
  return {sabotage, name, what, problem, Fill::kNormal, std::move(codes), false, true};
}
Saboteur streamed(Sabotage sabotage, std::string_view name, std::string_view what,
                  std::vector<Reason> codes) {
  return {sabotage, name, what, kFloat, Fill::kNormal, std::move(codes), true, false};
}

}  // namespace

const std::vector<Saboteur>& saboteurs() {
  using enum Sabotage;
  using R = Reason;
  static const std::vector<Saboteur> table{
      value(kZeros, "zeros", "the output is zero", {R::kNumericMismatch}),
      value(kCopyInput, "copy_input", "the output is the input", {R::kNumericMismatch}),
      value(kPermutedRows, "permuted_rows", "every row is its neighbour's", {R::kNumericMismatch}),
      value(kExtraRounding, "extra_rounding", "an intermediate is rounded to storage",
            {R::kNumericMismatch}, kLarge),
      value(kMissingRounding, "missing_rounding", "the variant's own rounding is left out",
            {R::kNumericMismatch}, kTwo),
      value(kTruncate, "rz_rounding", "rounds towards zero", {R::kNumericMismatch, R::kBias},
            kLarge),
      value(kScale, "scales_by_0.999", "all values are 0.1 % too small",
            {R::kNumericMismatch, R::kBias}, kLarge),
      value(kOneElement, "one_element", "one element is 1 % off", {R::kNumericMismatch}),
      value(kNarrowAccumulator, "bf16_accumulate", "a sum is kept in bf16", {R::kNumericMismatch},
            kLarge),
      value(kNarrowFactors, "tf32_in_fp32", "f32 factors lose 13 bits", {R::kNumericMismatch},
            kFloat),
      value(kOffByOneIndex, "off_by_one_index", "each column takes the next one's factor",
            {R::kNumericMismatch}),
      value(kWrongWeightType, "wrong_dtype", "the weight is read as another 16-bit type",
            {R::kNumericMismatch}),
      value(kDropsContribution, "drops_contribution", "a sum leaves one row out",
            {R::kNumericMismatch}, kLarge),
      value(kWrongOddWidth, "odd_width", "the last column of odd widths is wrong",
            {R::kNumericMismatch}, kOdd),
      value(kWrongFarRows, "far_rows", "rows from 256 on are wrong", {R::kNumericMismatch}, kTall),
      value(kSwallowNan, "swallows_nan", "NaN becomes 0", {R::kNonfiniteMismatch}, kPlain,
            Fill::kNanRow),
      value(kSpreadNan, "spreads_nan", "a NaN row spoils its neighbour", {R::kNonfiniteMismatch},
            kPlain, Fill::kNanRow),
      value(kNanEverywhere, "nan_everywhere", "the output is NaN", {R::kNonfiniteMismatch}),
      value(kWrongEmpty, "wrong_empty", "a call without rows leaves a sum as it was",
            {R::kNumericMismatch}),
      value(kWrongGradient, "wrong_gradient", "a gradient misses a term", {R::kGradient},
            kBackward),
      value(kNegatedGradient, "negated_gradient", "a gradient has the wrong sign", {R::kGradient},
            kBackward),

      value(kSkipLastRow, "skips_last_row", "the last row is not written", {R::kUnwrittenOutput}),
      value(kSkipTotal, "skips_output", "an optional output is not written", {R::kUnwrittenOutput}),
      value(kWritesHalf, "writes_half", "half of the output is not written", {R::kUnwrittenOutput}),
      value(kSkipsTail, "skips_tail", "what exceeds whole vectors of 8 is not written",
            {R::kUnwrittenOutput}, kOdd),
      value(kMutateInput, "mutates_input", "one bit of an input changes", {R::kUndeclaredMutation}),
      value(kZeroInput, "zero_input", "an input is zero afterwards", {R::kUndeclaredMutation}),
      paged(kMutatesAndRestores, "mutates_input_and_restores",
            "an input changes during the call only", {R::kUndeclaredMutation}),
      value(kWriteBefore, "oob_write_before", "writes the byte before the output", {R::kOobWrite}),
      value(kWriteAfter, "oob_write_after", "writes the byte after the output", {R::kOobWrite}),
      value(kWriteGap, "oob_write_gap", "writes between the rows of a strided output",
            {R::kOobWrite}),
      value(kTailOverNextRow, "tail_over_next_row",
            "the last vector of a row reaches into the next", {R::kOobWrite, R::kNumericMismatch},
            kOdd),
      paged(kReadBefore, "oob_read_before", "reads the element before an input", {R::kOobRead}),
      paged(kReadAfter, "oob_read_after", "reads the element after an input", {R::kOobRead}),
      paged(kNarrowOffset, "int32_offset", "row offsets wrap at 2^31 elements",
            {R::kOobRead, R::kCrash}, kFar),
      value(kReadsOutput, "reads_output", "adds to what the output held", {R::kReadsUninitialised}),
      value(kReadsWorkspace, "uninit_workspace", "adds what the workspace held",
            {R::kReadsUninitialised}),
      value(kWorkspaceOverflow, "workspace_overflow", "writes behind the workspace",
            {R::kOobWrite}),
      value(kWorkspaceDirty, "workspace_dirty", "leaves a zeroed workspace dirty",
            {R::kUndeclaredMutation}),

      value(kIgnoresIndex, "ignores_index", "rows stay where they are", {R::kNumericMismatch},
            kGather),
      value(kClampsIndex, "clamps_index", "the last row is never taken", {R::kNumericMismatch},
            kGather),
      value(kFlushesSubnormals, "flushes_subnormals", "a copy flushes subnormals to zero",
            {R::kNumericMismatch}, kGather, Fill::kTiny),
      value(kLeavesState, "leaves_state", "a state is not updated", {R::kMissingMutation}, kUpdate),
      value(kUpdatesTwice, "updates_twice", "a state is updated twice", {R::kNumericMismatch},
            kUpdate),

      value(kBatchDependent, "batch_dependent", "bits change from 4 rows on", {R::kBatchVariant},
            kFloat),
      value(kNondeterministic, "nondeterministic", "bits change from call to call",
            {R::kNondeterministic}, kFloat),
      value(kPositionDependent, "position_dependent", "odd rows have other bits than even ones",
            {R::kMetamorphic}, kFloat),
      value(kPlacementDependent, "placement_dependent", "bits depend on the address",
            {R::kPlacementVariant}, kFloat),

      value(kMemoByAddress, "memo_by_pointer", "answers again what was at this address",
            {R::kStaleReplay}),
      value(kMemoByShape, "memo_by_shape", "answers again what had this shape", {R::kStaleReplay}),
      value(kWarmupOnly, "warmup_only", "computes nothing after 150 calls", {R::kStaleReplay}),

      value(kFailLaunch, "fail_launch", "refuses what it declared", {R::kRejectedValid}),
      value(kThrowPrepare, "throw_prepare", "cannot prepare what it declared", {R::kRejectedValid}),
      value(kGrowingWorkspace, "growing_workspace", "wants more workspace for fewer rows",
            {R::kImpureDecision}),
      value(kLeaksHost, "leaks_host", "keeps 4 KB of host memory a call", {R::kMemoryGrowth}),
      value(kChangesDevice, "changes_device", "leaves another current device", {R::kWrongDevice}),

      streamed(kLeaksDevice, "leaks_1MB", "keeps 1 MB of device memory a call", {R::kMemoryGrowth}),
      streamed(kSideStream, "side_stream", "works on a stream of its own", {R::kWrongStream}),
      streamed(kDefaultStream, "default_stream", "works on the default stream", {R::kWrongStream}),
      streamed(kEscapes, "escaped_work", "its last work is on a stream that nobody waits for",
               {R::kEscapedWork}),
      streamed(kDeferred, "deferred", "does the work when it is called next",
               {R::kUnwrittenOutput, R::kNondeterministic}),
      streamed(kSyncsHost, "syncs", "waits for its stream", {R::kSyncsHost}),
      streamed(kSharedArguments, "thread_unsafe", "keeps arguments in the plan until the work runs",
               {R::kThreadUnsafe}),
      streamed(kKeepsArguments, "keeps_arguments", "reads the host's arguments when the work runs",
               {R::kLifetime}),
      streamed(kGraphDrops, "graph_drops", "every second captured call is not in the graph",
               {R::kGraphCallDropped}),
      streamed(kCaptureEager, "capture_eager", "does captured work at once",
               {R::kCaptureDroppedWork}),
      streamed(kCaptureAllocates, "capture_allocates", "allocates while captured",
               {R::kCaptureFailed}),
      streamed(kGraphKeepsValues, "graph_keeps_values", "a graph keeps the captured inputs",
               {R::kStaleReplay}),
      streamed(kGraphRunsOnce, "graph_runs_once", "a graph works the first time only",
               {R::kStaleReplay}),
      streamed(kLazyAllocates, "lazy_init", "the first launch allocates", {R::kLazyInit}),
      streamed(kFirstDevice, "wrong_device", "always works on the first device", {R::kWrongDevice}),
  };
  return table;
}

}  // namespace kw::suite
