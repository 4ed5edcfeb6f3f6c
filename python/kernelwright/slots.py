# SPDX-License-Identifier: Apache-2.0
"""The guard objects of model code.

    kw_gate = kernelwright.OpSlot("my_gate", "standard")      # binds nothing, reads nothing
    ...
    if kw_gate.bound:
        return kw_gate(x, weight)
    # the model's own code stays here
"""

from kernelwright import _control, _library, registry


class OpSlot:
    """One replaceable computation. `bound` is False until bind_slots() gives it an implementation;
    a call of an unbound slot raises RuntimeError.

    A bound slot is called with the contract's inputs and scalars in order (help() on the slot shows
    them) and returns the wanted outputs: one tensor, or a tuple. Optional outputs are asked for with
    want_<output>=True; any output may be brought along by its name. With gradients enabled and an
    input that requires one, the call is recorded for autograd.
    """

    __slots__ = ("operation", "variant", "bound", "implementation", "device", "_function",
                 "__weakref__")

    def __init__(self, operation, variant):
        self.operation, self.variant = operation, variant
        self._unbind()

    def _unbind(self):
        self.__class__ = OpSlot
        self.bound, self.implementation, self.device, self._function = False, "eager", None, None

    def _bind(self, row, device, function, kernel):
        from kernelwright import _calls
        self.bound, self.implementation, self.device = True, row["bound"], device
        self._function = function
        self.__class__ = _calls.slot_class(OpSlot, self.operation, self.variant, device, function,
                                           kernel)

    def __call__(self, *args, **kwargs):
        if not _control.initialized():
            raise RuntimeError(f"{self!r}: call kernelwright.initialize() and bind_slots() first, "
                               f"or guard the call with `if slot.bound`")
        raise RuntimeError(f"{self!r} is not bound; guard the call with `if slot.bound`")

    def __repr__(self):
        return f"OpSlot({self.operation}/{self.variant} -> {self.implementation})"

    def __reduce__(self):
        return OpSlot, (self.operation, self.variant)  # a copy is bound where it is used


class SlotSet:
    """The slots of one model instance."""

    def __init__(self, slots):
        if hasattr(slots, "__dict__") and not hasattr(slots, "__iter__"):  # a module
            slots = [value for value in vars(slots).values() if isinstance(value, OpSlot)]
        self.slots = tuple(slots)
        for slot in self.slots:
            if not isinstance(slot, OpSlot):
                raise TypeError(f"a SlotSet holds OpSlots; got {type(slot).__name__}")

    def bind(self, device=None):
        return bind_slots(self, device)

    def unbind(self):
        for slot in self.slots:
            slot._unbind()

    def __repr__(self):
        return f"SlotSet({', '.join(map(repr, self.slots))})"


def bind_slots(slots, device=None):
    """Binds every slot of a SlotSet, a list or a module, or none: the report of all of them.

    A slot for which nothing serves stays eager, with the reason in the report; one whose
    implementation was named explicitly and cannot serve raises NotImplementedError. `device` is that
    of initialize() unless given.
    """
    if not _control.initialized():
        raise RuntimeError("call kernelwright.initialize() before bind_slots(); it chooses device and "
                           "implementations once")
    if not isinstance(slots, SlotSet):
        slots = SlotSet(slots)
    import json

    labels = [f"{slot.operation}/{slot.variant}" for slot in slots.slots]
    answer = _library.ffi()["bind"](device or "", labels)
    report, functions = json.loads(answer[0]), list(answer)[1:]
    for slot, row, function in zip(slots.slots, report["slots"], functions):
        if function is None:
            slot._unbind()
        else:
            # What asks for evidence is the library: no call may pass it by.
            kernel = None if report["require_evidence"] else \
                registry.callable_of(row["bound"], row["reason"])
            slot._bind(row, report["device"], function, kernel)
    return report
