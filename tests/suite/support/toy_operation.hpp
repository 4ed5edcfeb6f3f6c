// SPDX-License-Identifier: Apache-2.0
// Two operations that exist for the suite's tests, and implementations that are wrong in one way
// each.
//   affine:          y = x * gain + bias;  total = sum of x over rows
//     variant `one` rounds once, `two` rounds the product first
//   affine_backward: dx = dy * gain + total, with `total` as the forward saved it
#pragma once

#include "kernelwright/core/catalog.hpp"

namespace kw::test {

enum class Sabotage {
  kNone,
  kZeros,            // y = 0
  kCopyInput,        // y = x
  kExtraRounding,    // variant one: rounds the product
  kMissingRounding,  // variant two: does not
  kTruncate,         // rounds towards zero
  kScale,            // y * 0.999
  kOneElement,       // one element off by a percent
  kSkipLastRow,
  kSkipTotal,
  kMutateInput,
  kWriteBefore,
  kWriteAfter,
  kWriteGap,     // into the padding between strided rows
  kReadsOutput,  // adds what y held before
  kReadsWorkspace,
  kWorkspaceOverflow,
  kWorkspaceDirty,  // leaves the zeroed part dirty
  kSwallowNan,      // NaN becomes 0
  kSpreadNan,       // a NaN row poisons its neighbour
  kBatchDependent,  // other arithmetic from 4 rows on
  kNondeterministic,
  kWrongEmpty,     // leaves `total` alone when there are no rows
  kWrongOddWidth,  // the last column of odd widths from 9 on is wrong: bait for fuzz
  kFailLaunch,
  kThrowPrepare,
};

struct AffineArgs {
  TensorView x, gain, y, total;
  double bias = 0.5;

  void visit(Recorder& v);
  static const Contract& contract();
};

struct AffineBackwardArgs {
  TensorView dy, x, gain, total, dx;
  double bias = 0.5;

  void visit(Recorder& v);
  static const Contract& contract();
};

// Shows `affine` a device-independent implementation named cpu.toy.affine with this defect;
// declared deterministic and batch-invariant.
Implementation toy_affine(Sabotage sabotage);

// affine and affine_backward with their references and a toy implementation each.
void add_toy_operations(Catalog& catalog, Sabotage sabotage = Sabotage::kNone);

}  // namespace kw::test
