# SPDX-License-Identifier: Apache-2.0
"""The outputs of a call, as Python text: written-out calls (_calls.py, _autograd.py) allocate them
with PyTorch and hand them over.

A tensor that TVM FFI allocates comes back through DLPack as memory that PyTorch only borrows:
record_stream() ignores it, its storage cannot be resized, and the round trip takes as long as the
allocation (docs/python.md has the figures). So what PyTorch can allocate, PyTorch does; lists of
tensors stay with the crossing, which knows their lengths."""

import functools

from kernelwright import _signature


def rows(sig):
    """The rows of the outputs that this variant has."""
    return [row for row in sig.rows
            if row["role"] == "output" and _signature.in_variant(row, sig.variant)]


def allocations(sig):
    """name -> text of the tensor made for it, in terms of the call's parameters; None when the
    crossing has to allocate."""
    made = {}
    for row in rows(sig):
        shape, dtype = _shape(sig, row), _dtype(sig, row)
        if row["kind"] != "tensor" or shape is None or dtype is None:
            return None
        made[row["name"]] = f"_empty({_signature.first_tensor(sig)[0]}, {shape}, {dtype})"
    return made


def statements(sig, function, wanted, brought=False, retried=()):
    """Lines that call `function` and leave every output in the variable of its name, None when it is
    not wanted. `wanted`: name -> text of the condition, of outputs that are not always wanted.
    brought: the variables may hold tensors already. retried: inputs of which a copy may do, when the
    call as it is serves nobody."""
    made = allocations(sig)
    lines = []
    if made is None:
        return _through_the_crossing(sig, function, wanted, brought, retried)
    for name, text in made.items():
        conditions = [f"{name} is None"] if brought else []
        conditions += [wanted[name]] if name in wanted else []
        if not brought and name in wanted:
            lines.append(f"{name} = None")
        lines.append(f"if {' and '.join(conditions)}: {name} = {text}" if conditions
                     else f"{name} = {text}")
    arguments = [row["name"] if _signature.in_variant(row, sig.variant) else "None"
                 for row in sig.rows]
    return lines + _call(f"{function}({', '.join(arguments)})", retried)


def _through_the_crossing(sig, function, wanted, brought, retried):
    arguments, taken = [], []
    for row in sig.rows:
        name = row["name"]
        if row["role"] != "output" or not _signature.in_variant(row, sig.variant):
            arguments.append(name if _signature.in_variant(row, sig.variant) else "None")
            continue
        wish = wanted.get(name, "None")
        arguments.append(f"{name} if {name} is not None else {wish}" if brought else wish)
        conditions = [f"{name} is None"] if brought else []
        conditions += [wanted[name]] if name in wanted else []
        taken.append((name, " and ".join(conditions)))
    lines = _call(f"_r = {function}({', '.join(arguments)})", retried)
    count = " + ".join(f"({condition or 'True'})" for _, condition in taken)
    lines.append(f"_r = iter(_unpacked(_r, {count}))")
    for name, condition in taken:
        kept = name if brought else "None"
        lines.append(f"{name} = next(_r) if {condition} else {kept}" if condition
                     else f"{name} = next(_r)")
    return lines


def _call(call, retried):
    if not retried:
        return [call]
    dense = " and ".join(f"{name}.is_contiguous()" for name in retried)
    return ["try:", f"    {call}",
            "except NotImplementedError:", f"    if {dense}: raise",
            *(f"    {name} = {name}.contiguous()" for name in retried), f"    {call}"]


def returned(sig, wanted):
    """Text of what a call returns: one tensor, or a tuple of those that are not None."""
    names = [row["name"] for row in rows(sig)]
    always = [name for name in names if name not in wanted]
    if len(names) == 1:
        return names[0]
    if len(always) == len(names):
        return ", ".join(names)
    if len(always) == 1 and len(names) == 2:  # the usual case; spelled out it takes 0.2 us less
        other = next(name for name in names if name in wanted)
        return f"{always[0]} if {other} is None else ({', '.join(names)})"
    return f"_present({', '.join(names)})"


def present(*outputs):
    kept = tuple([each for each in outputs if each is not None])
    return kept[0] if len(kept) == 1 else kept or None


def unpacked(result, count):
    """What the crossing returned, as a tuple of `count` outputs."""
    if count == 0:
        return ()
    return (result,) if count == 1 else elements(result)


def elements(array):
    """An array of outputs as a tuple. Array's own iterator takes 15 us for two tensors, this 6 (Xeon,
    2.5 GHz)."""
    element, size = _array_functions()
    return tuple([element(array, index) for index in range(size(array))])


@functools.cache
def _array_functions():
    import tvm_ffi
    return tvm_ffi.get_global_func("ffi.ArrayGetItem"), tvm_ffi.get_global_func("ffi.ArraySize")


# ---- Shapes and dtypes of the table, as text ---------------------------------------------------

def _sources(sig):
    """Required input tensors, of which sizes and dtypes are read."""
    return [row for row in sig.rows if row["kind"] == "tensor" and row["role"] != "output"
            and not row["optional"] and _signature.in_variant(row, sig.variant)]


def _shape(sig, row):
    parts = []
    for same in _sources(sig):
        if same["dims"] == row["dims"]:
            return f"(*{same['name']}.shape,)"
    for dim in row.get("dims", ()):
        text = _batch(sig) if dim.get("batch") else _size(sig, dim)
        if text is None:
            return None
        parts.append(text)
    return f"({', '.join(parts)},)" if parts else "()"


def _batch(sig):
    for source in _sources(sig):
        fixed = sum(1 for dim in source["dims"] if not dim.get("batch"))
        if fixed != len(source["dims"]):
            return f"*{source['name']}.shape[:{-fixed}]" if fixed else f"*{source['name']}.shape"
    return None


def _size(sig, dim):
    factors = [str(dim["scale"])] if dim["scale"] != 1 or not dim["s"] else []
    for symbol in (dim["s"], dim["t"]):
        if symbol:
            factors.append(_symbol(sig, symbol))
    if None in factors:
        return None
    text = " * ".join(factors)
    return f"{text} + {dim['offset']}" if dim["offset"] else text


def _symbol(sig, symbol):
    for row in sig.rows:
        if row["kind"] == "int" and row["name"] == symbol and not row["optional"]:
            return symbol
    for source in _sources(sig):
        for place, dim in enumerate(source["dims"]):
            if dim.get("s") == symbol and not dim["t"] and dim["scale"] == 1:
                size = f"{source['name']}.shape[{place - len(source['dims'])}]"
                return f"({size} - {dim['offset']})" if dim["offset"] else size
    return None


def _dtype(sig, row):
    if row["kind"] != "tensor":
        return None
    term = row["dtypes"]["terms"][0]
    if term["kind"] == "fixed":
        return f"_dtypes[{term['dtype']!r}]"
    for source in _sources(sig):
        if source["dtypes"]["declares"] == term["symbol"]:
            name = f"{source['name']}.dtype"
            return name if term["kind"] == "symbol" else f"_accumulator[{name}]"
    return None


# ---- PyTorch -----------------------------------------------------------------------------------

class _Strides(dict):
    """Row-major strides by shape. Looked up 0.1 us, computed 1."""

    def __missing__(self, shape):
        strides, step = [], 1
        for size in reversed(shape):
            strides.append(step)
            step *= max(size, 1)
        if len(self) == 4096:
            self.clear()
        found = self[shape] = tuple(reversed(strides))
        return found


@functools.cache
def names(device):
    """What the texts above refer to; needs PyTorch."""
    import torch

    from kernelwright import _torch
    return {"_empty": _allocator(torch, device.partition(":")[0]), "_dtypes": _torch.DTYPES,
            "_accumulator": {dtype: _torch.accumulator(dtype) for dtype in _torch.DTYPES.values()}}


def _allocator(torch, kind):
    """empty(like, shape, dtype): row-major, on the device of `like`. Inductor's own allocation skips
    the dispatcher: 1.3 us where torch.empty takes 5 (CPU, Xeon, 2.5 GHz). It has no argument for the
    device, and is no public interface, so torch.empty stands behind it."""
    fast = getattr(getattr(torch._C._dynamo, "guards", None), f"_empty_strided_{kind}", None)
    strides = _Strides()

    def general(like, shape, dtype):
        return torch.empty(shape, dtype=dtype, device=like.device)

    def on_cpu(like, shape, dtype):
        return fast(shape, strides[shape], dtype) if like.is_cpu else general(like, shape, dtype)

    def on_cuda(like, shape, dtype):
        if like.get_device() == current():
            return fast(shape, strides[shape], dtype)
        return general(like, shape, dtype)
    current = getattr(torch._C, "_cuda_getDevice", None)
    if fast is None or kind == "cuda" and current is None:
        return general
    return on_cpu if kind == "cpu" else on_cuda
