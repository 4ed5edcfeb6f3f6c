// SPDX-License-Identifier: Apache-2.0
// The ways in which a kernel can be wrong or a benchmark deceived, each planted in a probe
// operation of its own. numerics has to find every one of them, or it cannot be believed about
// anything else.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "kernelwright/suite/fill.hpp"
#include "kernelwright/suite/result.hpp"

namespace kw::suite {

enum class Sabotage {
  kNone,
  // Values.
  kZeros,
  kCopyInput,
  kPermutedRows,
  kExtraRounding,
  kMissingRounding,
  kTruncate,
  kScale,
  kOneElement,
  kNarrowAccumulator,
  kNarrowFactors,
  kOffByOneIndex,
  kWrongWeightType,
  kDropsContribution,
  kWrongOddWidth,
  kWrongFarRows,
  kSwallowNan,
  kSpreadNan,
  kNanEverywhere,
  kWrongEmpty,
  kWrongGradient,
  kNegatedGradient,
  // Memory.
  kSkipLastRow,
  kSkipTotal,
  kWritesHalf,
  kSkipsTail,
  kMutateInput,
  kZeroInput,
  kMutatesAndRestores,
  kWriteBefore,
  kWriteAfter,
  kWriteGap,
  kTailOverNextRow,
  kReadBefore,
  kReadAfter,
  kNarrowOffset,
  kReadsOutput,
  kReadsWorkspace,
  kWorkspaceOverflow,
  kWorkspaceDirty,
  // Movement and mutation.
  kIgnoresIndex,
  kClampsIndex,
  kFlushesSubnormals,
  kLeavesState,
  kUpdatesTwice,
  // Dependence on what must not matter.
  kBatchDependent,
  kNondeterministic,
  kPositionDependent,
  kPlacementDependent,
  // Answers that were kept.
  kMemoByAddress,
  kMemoByShape,
  kWarmupOnly,
  // Promises.
  kFailLaunch,
  kThrowPrepare,
  kGrowingWorkspace,
  kLeaksHost,
  kChangesDevice,
  // Streams, graphs, threads, devices: need an asynchronous device.
  kLeaksDevice,
  kSideStream,
  kDefaultStream,
  kEscapes,
  kDeferred,
  kSyncsHost,
  kSharedArguments,
  kKeepsArguments,
  kGraphDrops,
  kCaptureEager,
  kCaptureAllocates,
  kGraphKeepsValues,
  kGraphRunsOnce,
  kLazyAllocates,
  kFirstDevice,
};

struct Saboteur {
  Sabotage sabotage = Sabotage::kNone;
  std::string_view name, what;
  std::string_view problem;  // on which it shows
  Fill fill = Fill::kNormal;
  std::vector<Reason> codes;  // any of these is a kill
  bool asynchronous = false;  // needs streams
  bool needs_page_guards = false;
};

const std::vector<Saboteur>& saboteurs();

}  // namespace kw::suite
