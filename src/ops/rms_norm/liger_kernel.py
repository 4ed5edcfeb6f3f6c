# SPDX-License-Identifier: Apache-2.0
"""rms_norm of Liger Kernel. Its casting mode "llama" rounds x * rstd before the weight (standard);
"gemma" computes in float32 throughout and rounds once (fp32, and with offset 1 qwen3_5). Without a
weight it rounds x * r where `unweighted` rounds r, so that variant is not claimed."""

from kernelwright import register_kernel

_MODES = {"standard": ("llama", 0.0), "fp32": ("gemma", 0.0), "qwen3_5": ("gemma", 1.0)}


def _load():
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    def rms_norm(x, weight, eps, variant):
        mode, offset = _MODES[variant]
        # in_place would overwrite the gradient of y, which autograd may still need.
        return LigerRMSNormFunction.apply(x, weight, eps, offset, mode, False)
    return rms_norm


register_kernel("rms_norm", "liger_kernel", device="cuda", target=_load, factory=True,
                variants=list(_MODES), requires=["liger_kernel>=0.5", "torch", "triton"],
                dtypes=["bf16", "f16", "f32"], contiguous=True, takes_variant=True,
                description="LigerRMSNormFunction, Triton", differentiable=True)
