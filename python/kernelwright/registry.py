# SPDX-License-Identifier: Apache-2.0
"""Implementations that are Python callables, in the catalog beside the others.

    @register_kernel("my_gate", "mine", device="cuda", variants=["standard"],
                     requires=["my_package>=2"], differentiable=True)
    def gate(x, weight): ...

They come after the built-in ones, by priority, then name; `solution` is what configuration calls
them. Registration ends with the first resolve.
"""

import importlib
import os

from kernelwright import _library, _signature

ENTRY_POINTS = "kernelwright.kernels"


class OutputStructureError(TypeError):
    """A Python implementation returned another number of outputs, another kind, shape, dtype, layout
    or device than the contract's."""


class OutputAliasError(ValueError):
    """A Python implementation returned memory of an input, or one memory for two outputs."""


class _Kernel:
    def __init__(self, target, factory, operation, device, outputs, takes_variant):
        import threading
        self.target = target  # callable, "module:attribute", or a factory of either
        self.factory, self.operation, self.device = factory, operation, device
        self.outputs, self.takes_variant = outputs, takes_variant
        self.loaded, self.lock = None, threading.Lock()

    def load(self):
        """The callable. An ImportError here is a broken installation, and is raised."""
        if self.loaded is None:
            with self.lock:
                target = self.target() if self.factory else self.target
                if isinstance(target, str):
                    module, _, attribute = target.partition(":")
                    target = getattr(importlib.import_module(module), attribute)
                self.loaded = target
        return self.loaded


_kernels = {}


def register_kernel(operation, solution, *, device, target=None, factory=False, variants=None,
                    requires=(), description="", outputs=None, dtypes=None, contiguous=False,
                    supports=None, differentiable=False, deterministic=True, batch_invariant=False,
                    graph_mode=True, min_capability=None, max_capability=None, priority=0,
                    takes_variant=False, force=False):
    """Registers a callable as `<device>.<solution>.<operation>`; as a decorator it returns it
    unchanged.

    The callable gets the contract's input tensors in order, scalars by keyword, and `variant=` with
    takes_variant. It returns the outputs named in `outputs` (default: the required ones) in order;
    problems that want others are rejected, as are dtypes beyond `dtypes` and, with contiguous=True,
    strided tensors. `supports` maps a problem's text to None or a reason why not.

    target: instead of decorating, a callable or "package.module:attribute", imported when first
    called; with factory=True it is called once, without arguments, for the callable.
    requires: PEP 508 requirements. Missing or too old: the implementation is excluded, with the
    reason. Installed but failing to import: the ImportError is raised at the first use.
    differentiable: gradients come from torch autograd of the callable itself.
    """
    if target is None:
        def decorate(function):
            register_kernel(operation, solution, device=device, target=function, factory=factory,
                            variants=variants, requires=requires, description=description,
                            outputs=outputs, dtypes=dtypes, contiguous=contiguous,
                            supports=supports, differentiable=differentiable,
                            deterministic=deterministic, batch_invariant=batch_invariant,
                            graph_mode=graph_mode, min_capability=min_capability,
                            max_capability=max_capability, priority=priority,
                            takes_variant=takes_variant, force=force)
            return function
        return decorate
    import json

    if not callable(target) and not isinstance(target, str):
        raise TypeError(f"a kernel is a callable or 'package.module:attribute'; got {target!r}")
    name = f"{device}.{solution}.{operation}"
    table = _signature.contract(operation)
    known = {row["name"]: row for row in table["parameters"] if row["role"] == "output"}
    for output in outputs or ():
        if output not in known:
            raise KeyError(f"{name}: {operation} has no output '{output}'; it has "
                           f"{', '.join(known)}")
    made = tuple(outputs or (o for o, row in known.items() if not row["optional"]))
    module = getattr(target, "__module__", None) or str(target).partition(":")[0]
    facts = {"operation": operation, "name": name, "solution": solution, "device": device,
             "description": description or f"{module}, a Python callable", "origin": module,
             "outputs": made, "dtypes": dtypes, "contiguous": contiguous, "variants": variants,
             "deterministic": deterministic, "batch_invariant": batch_invariant,
             "differentiable": differentiable, "graph_mode": graph_mode,
             "min_capability": min_capability, "max_capability": max_capability,
             "priority": priority, "force": force, "excluded": unmet(requires)}
    facts = json.dumps({key: value for key, value in facts.items() if value is not None})
    if '"excluded"' in facts:
        _library.ffi()["register"](facts, None, None)
        return None
    kernel = _Kernel(target, factory, operation, device, made, takes_variant)
    _library.ffi()["register"](facts, _crossing(kernel), supports)
    _kernels[name] = kernel
    return None


def unmet(requires):
    """Why these requirements do not hold here, or None."""
    import importlib.metadata

    from packaging.requirements import Requirement
    for text in requires:
        requirement = Requirement(text)
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            return f"needs {text}, which is not installed; pip install '{text}'"
        if not requirement.specifier.contains(version, prereleases=True):
            return f"needs {text}, and {version} is installed; pip install '{text}'"
    return None


def _arguments(kernel, variant, given):
    """Positional tensors and keyword scalars of the callable, from values by row name."""
    sig = _signature.signature(kernel.operation, variant)
    tensors, scalars = [], {}
    for row in sig.rows:
        if row["role"] == "output" or not _signature.in_variant(row, variant):
            continue
        if _signature.is_tensor(row):
            tensors.append(given[row["name"]])
        else:
            scalars[row["name"]] = given[row["name"]]
    if kernel.takes_variant:
        scalars["variant"] = variant
    return tensors, scalars


def _crossing(kernel):
    """What C++ calls: (variant, stream, values of the table); writes into the outputs it is given."""
    import tvm_ffi
    for error in (OutputStructureError, OutputAliasError):
        tvm_ffi.register_error(error)  # else it crosses as a RuntimeError

    def call(variant, stream, *values):
        import torch
        sig = _signature.signature(kernel.operation, variant)
        given = {row["name"]: _torch_value(value) for row, value in zip(sig.rows, values)}
        tensors, scalars = _arguments(kernel, variant, given)
        with _on_stream(torch, kernel.device, stream, tensors), torch.no_grad():
            results = kernel.load()(*tensors, **scalars)
            results = results if isinstance(results, (tuple, list)) else (results,)
            _examine(f"{kernel.operation}/{variant}",
                     dict(zip(kernel.outputs, (given[name] for name in kernel.outputs))),
                     tensors, results)
            for name, result in zip(kernel.outputs, results):
                if given[name] is not None:
                    given[name].copy_(result)
    return call


def _examine(label, wanted, tensors, results):
    """Raises unless `results` are the outputs `wanted`, by name, in memory of their own: a slot that
    calls the implementation directly hands them on as they are."""
    import torch

    if len(results) != len(wanted):
        raise OutputStructureError(f"{label}: returned {len(results)} outputs; {', '.join(wanted)} "
                                   f"are {len(wanted)}")
    taken = [(f"the input {i + 1}", *_extent(tensor)) for i, tensor in enumerate(
        each for value in tensors if value is not None
        for each in (value if isinstance(value, list) else [value]))]
    for (name, like), result in zip(wanted.items(), results):
        if like is None:
            continue
        if not isinstance(result, torch.Tensor):
            raise OutputStructureError(f"{label}: '{name}' is a {type(result).__name__}, not a tensor")
        for what in ("shape", "dtype", "device"):
            if getattr(result, what) != getattr(like, what):
                raise OutputStructureError(f"{label}: '{name}' has {what} {_text(result, what)}; the "
                                           f"contract says {_text(like, what)}")
        if not result.is_contiguous():
            raise OutputStructureError(f"{label}: '{name}' has strides {result.stride()}; outputs are "
                                       f"contiguous")
        begin, end = _extent(result)
        for other, first, last in taken:
            if begin < last and first < end:
                raise OutputAliasError(f"{label}: '{name}' shares memory with {other}")
        taken.append((f"'{name}'", begin, end))


def _text(tensor, what):
    return list(tensor.shape) if what == "shape" else getattr(tensor, what)


def _extent(tensor):
    """First byte and the one behind the last; equal where there are no elements."""
    begin = tensor.data_ptr()
    if tensor.numel() == 0:
        return begin, begin
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return begin, begin + (reach + 1) * tensor.element_size()


def _torch_value(value):
    import torch
    import tvm_ffi
    if isinstance(value, tvm_ffi.Tensor):
        return torch.from_dlpack(value)
    return [_torch_value(each) for each in value] if isinstance(value, tvm_ffi.Array) else value


def _on_stream(torch, device, stream, tensors):
    import contextlib
    if device != "cuda":
        return contextlib.nullcontext()
    first = next(t for t in tensors if t is not None)
    index = (first[0] if isinstance(first, list) else first).device
    return torch.cuda.stream(torch.cuda.ExternalStream(stream, device=index) if stream
                             else torch.cuda.default_stream(index))


def callable_of(name, choice):
    """For a slot whose one candidate is a Python callable: (kernel), so that its calls cross
    nothing. None for all others, and where a list is walked per problem."""
    kernel = _kernels.get(name)
    if kernel is None or choice == "auto" or choice.startswith("["):
        return None
    return kernel


_discovered = False


def discover():
    """Imports kernelwright.ops.*.* and the entry points of the group `kernelwright.kernels`, each of
    which registers what it has. Once a process."""
    global _discovered
    if _discovered:
        return
    _discovered = True
    from kernelwright import _control
    if _control.initialized():
        return  # an earlier import of this package did it, and the catalog is frozen
    import importlib.metadata
    import pkgutil

    ops = os.path.join(_library.FOLDER, "ops")
    for folder in sorted(entry.name for entry in os.scandir(ops) if entry.is_dir()) \
            if os.path.isdir(ops) else []:
        for module in pkgutil.iter_modules([os.path.join(ops, folder)]):
            importlib.import_module(f"kernelwright.ops.{folder}.{module.name}")
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        entry.load()()
