# SPDX-License-Identifier: Apache-2.0
"""rms_norm of PyTorch: torch.nn.functional.rms_norm computes in float32 and rounds once, which is
the variant fp32 (numerics `ci` on both devices)."""

from kernelwright import register_kernel


def _load():
    import torch

    def rms_norm(x, weight, eps):
        # Mixed types promote; the one rounding is to the type of x.
        return torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, eps).to(x.dtype)
    return rms_norm


for _device in ("cpu", "cuda"):
    register_kernel("rms_norm", "torch", device=_device, target=_load, factory=True,
                    variants=["fp32"], requires=["torch>=2.4"], dtypes=["bf16", "f16", "f32", "f64"],
                    description="torch.nn.functional.rms_norm", differentiable=True)
