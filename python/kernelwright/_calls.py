# SPDX-License-Identifier: Apache-2.0
"""The code of bound calls. One Python function per operation, variant and device is written out from
the contract's table, so that a call is that function and one crossing."""

import functools
import sys

from kernelwright import _outputs, _signature


class _NoTensor:
    """Stands for torch.Tensor until PyTorch is there."""


def slot_class(base, operation, variant, device, function, kernel):
    """A subclass of `base` whose __call__ is the call itself. `kernel`: the Python implementation
    that is the slot's only candidate, or None."""
    if kernel is None:
        call = _written(operation, variant, device, function)
    else:
        call = _direct(operation, variant, kernel)
    return type(base.__name__, (base,),
                {"__slots__": (), "__module__": base.__module__, "__call__": call})


def _direct(operation, variant, kernel):
    """The call of a Python implementation: nothing crosses, and gradients are its own."""
    sig = _signature.signature(operation, variant)
    tensors, scalars = [], []
    for row in sig.rows:
        if row["role"] != "output" and _signature.in_variant(row, variant):
            (tensors if _signature.is_tensor(row) else scalars).append(row["name"])
    passed = tensors + [f"{name}={name}" for name in scalars]
    if kernel.takes_variant:
        passed.append(f"variant={variant!r}")
    outputs = [row for row in sig.rows
               if row["role"] == "output" and _signature.in_variant(row, variant)]
    refused = [row["name"] for row in outputs]
    refused += [f"want_{row['name']} or None" for row in outputs
                if row["optional"] and row["name"] not in kernel.outputs]
    lines = [f"def __call__(self, {sig.parameters()}):",
             f"    if not ({' is '.join(f'({name})' for name in refused)} is None):",
             "        raise ValueError(_message)",
             f"    return _k({', '.join(passed)})"]
    scope = {"_k": kernel.load(), "_message": f"{sig.label} is a Python callable here, which "
             f"allocates and returns {', '.join(kernel.outputs)}; ask for nothing else"}
    exec("\n".join(lines), scope)  # pylint: disable=exec-used
    scope["__call__"].__doc__ = documentation(operation, variant)
    return scope["__call__"]


def _written(operation, variant, device, function):
    sig = _signature.signature(operation, variant)
    first, is_list = _signature.first_tensor(sig)
    if device.startswith("cuda"):
        function.release_gil = False  # a launch is shorter than another thread's turn
    names = [name for name, _ in sig.positional + sig.keywords]
    passed = ", ".join(f"{name}={name}" for name in names)
    wanted = {row["name"]: f"want_{row['name']}" for row in _outputs.rows(sig) if row["optional"]}
    lines = [f"def __call__(self, {sig.parameters()}):",
             f"    t = type({first}[0] if {first} else None)" if is_list else
             f"    t = type({first})",
             "    if t is _Tensor or t is _Parameter:",
             "        if _compiling():",
             f"            return _traced({passed})"]
    link = _signature.gradient(operation, variant)
    if link is not None:
        optional = {row["name"] for row in sig.rows if row["optional"]}
        # Only the first is known to be a tensor; what else is wrong, the crossing says better.
        needs = " or ".join(f"{name}.requires_grad" if name == first and name not in optional
                            else f"getattr({name}, 'requires_grad', False)"
                            for name in link.differentiable)
        lines.append(f"        if ({needs}) and _grad_enabled():")
        lines += [f"            {line}" for line in _autograd_lines(sig, names)]
    call = _outputs.statements(sig, "_f", wanted, brought=True)
    guarded = _outputs.layouts(sig) is not None
    lines += [f"        {line}" for line in (_guarded(call, f"return _raw({passed})") if guarded else call)]
    lines.append(f"        return {_outputs.returned(sig, wanted)}")
    lines.append(f"    return _other({passed})")
    scope = {"_f": function, "_Tensor": _NoTensor, "_Parameter": _NoTensor,
             "_unpacked": _outputs.unpacked, "_present": _outputs.present}
    exec("\n".join(lines), scope)  # pylint: disable=exec-used
    written = scope["__call__"]
    written.__doc__ = documentation(operation, variant)
    written.__qualname__ = f"OpSlot[{sig.label}].__call__"
    raw = eval(f"lambda {sig.parameters()}: _f({', '.join(sig.crossing())})",  # pylint: disable=eval-used
               scope)
    scope["_other"] = functools.partial(_other, scope, sig, device, raw, first, is_list)
    scope["_raw"] = functools.partial(_raw, sig, raw)
    if "torch" in sys.modules:
        use_torch(scope, sig, device)
    return written


def _autograd_lines(sig, names):
    """The usual recorded call goes to autograd at once, others through _autograd.py. While a transform of
    functorch is active, autograd refuses before it does anything; to ask first takes 0.2 us."""
    unusual = [f"{row['name']} is not None" for row in _outputs.rows(sig)]
    unusual += [f"want_{row['name']}" for row in _outputs.rows(sig) if row["optional"]]
    recorded = f"return _recorded({', '.join(names)})"
    return [f"if {' or '.join(unusual)}: {recorded}",
            "try:", f"    return _apply({_signature.grouped(sig)})",
            "except RuntimeError:", "    if not _transformed(): raise", f"    {recorded}"]


def _guarded(lines, otherwise):
    """Allocations read shapes before anything is checked: if they cannot, the crossing says why."""
    *allocations, call = lines
    return ["try:", *(f"    {line}" for line in allocations),
            f"except {_outputs.UNREADABLE}:", f"    {otherwise}", call]


def _raw(sig, function, **arguments):
    """A call whose outputs the crossing allocates, beside those brought along; as a tuple."""
    result = function(**arguments)
    brought = {row["name"]: arguments[row["name"]] for row in _outputs.rows(sig)}
    missing = [row["name"] for row in _outputs.rows(sig) if brought[row["name"]] is None
               and (not row["optional"] or arguments[f"want_{row['name']}"])]
    made = dict(zip(missing, _outputs.unpacked(result, len(missing))))
    return _outputs.present(*[made.get(name, value) for name, value in brought.items()])


def use_torch(scope, sig, device):
    """Fills in what a written call needs of PyTorch, once it is imported."""
    import torch

    from kernelwright import _autograd, _torch
    scope.update(_outputs.scope(sig, "_f", device))
    scope["_Tensor"], scope["_Parameter"] = torch.Tensor, torch.nn.Parameter
    scope["_grad_enabled"] = torch.is_grad_enabled
    scope["_compiling"] = torch.compiler.is_dynamo_compiling
    scope["_traced"] = _torch.traced(sig)
    if _signature.gradient(sig.operation, sig.variant) is not None:
        scope["_recorded"], scope["_apply"] = _autograd.recorded(sig, device, scope["_f"])
        scope["_transformed"] = torch._C._are_functorch_transforms_active


def _other(scope, sig, device, raw, first, is_list, **arguments):
    """A call whose first tensor is not exactly PyTorch's: a subclass, numpy, or __dlpack__."""
    value = arguments[first]
    value = value[0] if is_list and value else value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if scope["_Tensor"] is _NoTensor:  # PyTorch came after the slot was bound
            use_torch(scope, sig, device)
        return scope["_traced"](**arguments)  # through the dispatcher, which knows subclasses
    return _native_result(_raw(sig, raw, **arguments), value)


def _native_result(result, like):
    """Outputs in the kind of `like`: numpy for numpy, else what TVM FFI made of them."""
    import tvm_ffi
    numpy = sys.modules.get("numpy")
    is_numpy = numpy is not None and isinstance(like, numpy.ndarray)

    def single(item):
        if isinstance(item, tvm_ffi.Array):
            return [single(each) for each in item]
        return numpy.from_dlpack(item) if is_numpy and isinstance(item, tvm_ffi.Tensor) else item
    return tuple(single(each) for each in result) if isinstance(result, tuple) else single(result)


def documentation(operation, variant):
    """help() of a bound slot, from the contract."""
    table = _signature.contract(operation)
    formula = next(v["help"] for v in table["variants"] if v["name"] == variant)
    lines = [f"{table['summary']}: {formula}", ""]
    for row in table["parameters"]:
        if _signature.in_variant(row, variant):
            kind = f"{row['dtype']} {row['shape']}" if "shape" in row else row["kind"]
            optional = ", optional" if row["optional"] else ""
            lines.append(f"{row['name']}: {kind}; {row['role']}{optional}: {row['help']}")
    return "\n".join(lines)
