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


def layouts(sig):
    """Text of what decides the outputs' shapes and dtypes, in terms of the call's parameters, and of a
    function of that: a (shape, dtype) for each output. None when the crossing has to allocate."""
    reads, made = _Reads(), []
    for row in rows(sig):
        shape, dtype = _shape(sig, row, reads), _dtype(sig, row, reads)
        if row["kind"] != "tensor" or shape is None or dtype is None:
            return None
        made.append(f"({shape}, {dtype})")
    if not made:
        return None
    return ", ".join(reads), f"lambda {', '.join(reads.values())}: ({', '.join(made)},)"


class _Reads(dict):
    """What is read of a call's arguments, as text -> the name it has in that function."""

    def __missing__(self, text):
        self[text] = name = f"_{len(self)}"
        return name


def statements(sig, function, wanted, brought=False, retried=()):
    """Lines that call `function` and leave every output in the variable of its name, None when it is
    not wanted; allocations() and the call. `wanted`: name -> text of the condition, of outputs that are
    not always wanted. brought: the variables may hold tensors already. retried: inputs of which a copy
    may do, when the call as it is serves nobody."""
    if layouts(sig) is None:
        return _through_the_crossing(sig, function, wanted, brought, retried)
    return (allocations(sig, function, wanted, brought) +
            _call(f"{function}({arguments(sig)})", retried))


def arguments(sig):
    """The crossing's arguments, as text, when every output is in the variable of its name."""
    return ", ".join(row["name"] if _signature.in_variant(row, sig.variant) else "None"
                     for row in sig.rows)


def allocations(sig, function, wanted, brought=False):
    """Lines that allocate; they need scope() of the same function."""
    lines, conditions = [], []
    first = _signature.first_tensor(sig)[0]
    for place, name in enumerate(row["name"] for row in rows(sig)):
        needs = [f"{name} is None"] if brought else []
        needs += [wanted[name]] if name in wanted else []
        if not brought and name in wanted:
            lines.append(f"{name} = None")
        made = f"{name} = _fast(*_a[{place}]) if _here is None or _here() == {first}.get_device() " \
               f"else _empty({first}, *_a[{place}])"
        lines.append(f"if {' and '.join(needs)}: {made}" if needs else made)
        conditions.append(" and ".join(needs) or "True")
    found = f"_a = _layouts{function}[{layouts(sig)[0]},]"
    if not brought:
        return [found, *lines]
    return [f"if {' or '.join(conditions)}:", f"    {found}", *(f"    {line}" for line in lines)]


# What reading shapes and dtypes of something else than tensors raises.
UNREADABLE = "(AttributeError, LookupError, TypeError, ValueError)"


def _through_the_crossing(sig, function, wanted, brought, retried):
    passed, taken = [], []
    for row in sig.rows:
        name = row["name"]
        if row["role"] != "output" or not _signature.in_variant(row, sig.variant):
            passed.append(name if _signature.in_variant(row, sig.variant) else "None")
            continue
        wish = wanted.get(name, "None")
        passed.append(f"{name} if {name} is not None else {wish}" if brought else wish)
        conditions = [f"{name} is None"] if brought else []
        conditions += [wanted[name]] if name in wanted else []
        taken.append((name, " and ".join(conditions)))
    lines = _call(f"_r = {function}({', '.join(passed)})", retried)
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


def _shape(sig, row, reads):
    parts = []
    for same in _sources(sig):
        if same["dims"] == row["dims"]:
            return f"(*{reads[same['name'] + '.shape']},)"
    for dim in row.get("dims", ()):
        text = _batch(sig, reads) if dim.get("batch") else _size(sig, dim, reads)
        if text is None:
            return None
        parts.append(text)
    return f"({', '.join(parts)},)" if parts else "()"


def _batch(sig, reads):
    for source in _sources(sig):
        fixed = sum(1 for dim in source["dims"] if not dim.get("batch"))
        if fixed != len(source["dims"]):
            shape = reads[f"{source['name']}.shape"]
            return f"*{shape}[:{-fixed}]" if fixed else f"*{shape}"
    return None


def _size(sig, dim, reads):
    factors = [str(dim["scale"])] if dim["scale"] != 1 or not dim["s"] else []
    for symbol in (dim["s"], dim["t"]):
        if symbol:
            factors.append(_symbol(sig, symbol, reads))
    if None in factors:
        return None
    text = " * ".join(factors)
    return f"{text} + {dim['offset']}" if dim["offset"] else text


def _symbol(sig, symbol, reads):
    for row in sig.rows:
        if row["kind"] == "int" and row["name"] == symbol and not row["optional"]:
            return reads[symbol]
    for source in _sources(sig):
        for place, dim in enumerate(source["dims"]):
            if dim.get("s") == symbol and not dim["t"] and dim["scale"] == 1:
                size = f"{reads[source['name'] + '.shape']}[{place - len(source['dims'])}]"
                return f"({size} - {dim['offset']})" if dim["offset"] else size
    return None


def _dtype(sig, row, reads):
    if row["kind"] != "tensor":
        return None
    term = row["dtypes"]["terms"][0]
    if term["kind"] == "fixed":
        return f"_dtypes[{term['dtype']!r}]"
    for source in _sources(sig):
        if source["dtypes"]["declares"] == term["symbol"]:
            name = reads[f"{source['name']}.dtype"]
            return name if term["kind"] == "symbol" else f"_accumulator[{name}]"
    return None


# ---- PyTorch -----------------------------------------------------------------------------------

class _Layouts(dict):
    """Shapes and dtypes of inputs -> (shape, strides, dtype) of each output, row-major. Looked up 0.2 us,
    computed 3 (Xeon, 2.5 GHz)."""

    LIMIT = 4096  # of problems with sizes of their own; then it starts again

    def __init__(self, function):
        super().__init__()
        self._function = function

    def __missing__(self, key):
        found = tuple([(shape, _strides(shape), dtype) for shape, dtype in self._function(*key)])
        if len(self) >= self.LIMIT:
            self.clear()
        self[key] = found
        return found


def _strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def scope(sig, function, device):
    """What the texts above refer to; needs PyTorch."""
    text = layouts(sig)
    if text is None:
        return {}
    import torch

    from kernelwright import _torch
    names = {"_dtypes": _torch.DTYPES,
             "_accumulator": {dtype: _torch.accumulator(dtype) for dtype in _torch.DTYPES.values()}}
    found = _Layouts(eval(text[1], names))  # pylint: disable=eval-used
    return {f"_layouts{function}": found, **_allocator(torch, device.partition(":")[0])}


def _allocator(torch, kind):
    """_fast(shape, strides, dtype) allocates on the current device, and serves unless the tensor beside
    lies elsewhere: _here() is the current device, or None where there is one only (a tensor of another
    kind of device is the crossing's to refuse). It is Inductor's own allocation, which skips the
    dispatcher: 0.8 us where torch.empty takes 5 (CPU, Xeon, 2.5 GHz). Since it is no public interface,
    torch.empty stands behind it."""
    def empty(like, shape, strides, dtype):
        return torch.empty(shape, dtype=dtype, device=like.device)

    def nowhere():
        return None
    fast = getattr(getattr(torch._C._dynamo, "guards", None), f"_empty_strided_{kind}", None)
    here = getattr(torch._C, "_cuda_getDevice", None)
    if kind == "cpu" or kind == "cuda" and torch.cuda.device_count() == 1:
        here = None
    elif here is None:
        fast = None
    return {"_fast": fast, "_here": here if fast else nowhere, "_empty": empty}
