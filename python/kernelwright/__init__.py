# SPDX-License-Identifier: Apache-2.0
"""kernelwright: compute kernels of large language models, chosen per operation and bound once.

    import kernelwright as kw
    kw_gate = kw.OpSlot("my_gate", "standard")
    kw.initialize(overrides={"my_gate": "auto"})
    kw.bind_slots([kw_gate])
    y = kw_gate(x, weight)              # torch, numpy, or any object with __dlpack__

Importing this opens no device, loads no library, and needs neither PyTorch nor numpy. Errors are ValueError, TypeError,
KeyError (an unknown name), NotImplementedError (nothing serves it here) and RuntimeError.
"""

from kernelwright._control import (contract, control, counters, doctor, explain, initialize,
                                   initialized, list, load_config, prepare)
from kernelwright.registry import register_kernel
from kernelwright.slots import OpSlot, SlotSet, bind_slots

__all__ = ["OpSlot", "SlotSet", "__version__", "bind_slots", "contract", "control", "counters",
           "doctor", "explain", "initialize", "initialized", "list", "load_config", "prepare",
           "register_kernel"]


def __getattr__(name):
    if name == "__version__":  # the library's, which importing does not load
        from kernelwright import _library
        return _library.version()
    raise AttributeError(f"module 'kernelwright' has no attribute {name!r}")
