# SPDX-License-Identifier: Apache-2.0
"""A newcomer's first lines, after `pip install .`: what serves here, numpy, PyTorch, a gradient."""
import importlib.util

import numpy as np

import kernelwright as kw

kw_rms_norm = kw.OpSlot("rms_norm", "standard")
kw.initialize(device="cpu")
kw.bind_slots([kw_rms_norm])
print(kw_rms_norm, [row["name"] for row in kw.list("rms_norm")["operations"][0]["implementations"]])
print("explain:", kw.explain("rms_norm/standard x=f32[2,8] weight=f32[8]")["explanations"][0]["selected"])
print("numpy:", kw_rms_norm(np.ones((2, 8), np.float32), np.full(8, 3, np.float32))[0, :4])
if importlib.util.find_spec("torch"):
    import torch
    x = torch.randn(2, 8, requires_grad=True)
    kw_rms_norm(x, torch.ones(8)).square().sum().backward()
    print("PyTorch:", x.grad.shape, kw_rms_norm(x, torch.ones(8)).grad_fn is not None)
