// SPDX-License-Identifier: Apache-2.0
#include "qwen3_5_moe/probe.hpp"

namespace qwen3_5_moe {

constinit thread_local CallRecorder* CallRecorder::current_ = nullptr;

}  // namespace qwen3_5_moe
