# SPDX-License-Identifier: Apache-2.0
"""kernelwright: compute kernels of large language models, chosen per operation and bound once.

    import kernelwright as kw
    kw_gate = kw.OpSlot("my_gate", "standard")
    kw.initialize(overrides={"my_gate": "auto"})
    kw.bind_slots([kw_gate])
    y = kw_gate(x, weight)              # torch, numpy, or any object with __dlpack__

Importing this opens no device and needs neither PyTorch nor numpy. Errors are ValueError, TypeError,
KeyError (an unknown name), NotImplementedError (nothing serves it here) and RuntimeError.
"""

from kernelwright._control import (contract, control, counters, doctor, explain, initialize,
                                   initialized, list, load_config, prepare)
from kernelwright._library import __version__
from kernelwright.registry import register_kernel
from kernelwright.slots import OpSlot, SlotSet, bind_slots

__all__ = ["OpSlot", "SlotSet", "__version__", "bind_slots", "contract", "control", "counters",
           "doctor", "explain", "initialize", "initialized", "list", "load_config", "prepare",
           "register_kernel"]
