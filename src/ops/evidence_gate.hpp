// SPDX-License-Identifier: Apache-2.0
// The store of evidence of this process, and the gate that asks it where evidence is required.
#pragma once

#include <memory>
#include <string>

#include "kernelwright/core/evidence.hpp"
#include "kernelwright/suite/evidence.hpp"

namespace kw {

// Below KW_CACHE_DIR. Throws Error for a malformed environment.
suite::EvidenceStore evidence_store();

// Of a device as evidence names it: "13.0" for CUDA; empty for the CPU.
std::string evidence_driver(DeviceKind kind);

// Answers from evidence_store(), opened when first asked.
std::shared_ptr<const EvidenceGate> make_evidence_gate();

}  // namespace kw
