# SPDX-License-Identifier: Apache-2.0
"""torch.ops.kw.<operation>: schema, kernels, fakes and gradients of every operation, from its
contract. An output that is not wanted is a zero-element tensor there."""

import functools

import torch

from kernelwright import _autograd, _control, _library, _signature

DTYPES = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
           "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2,
           "i64": torch.int64, "i32": torch.int32, "u8": torch.uint8, "bool": torch.bool}


def accumulator(dtype):
    """What sums of `dtype` are kept in: the table's acc(T)."""
    if dtype == torch.float64:
        return dtype
    return torch.float32 if dtype.is_floating_point else torch.int64


def register():
    """Defines the operators of this build, once a process. Called by initialize() when PyTorch is
    imported, and by the first bound slot."""
    # On the namespace, so that a second import of this package finds it.
    namespace = torch.ops.kw
    if getattr(namespace, "kernelwright_library", None) is not None:
        return
    library = torch.library.Library("kw", "FRAGMENT")
    for operation in _control.list()["operations"]:
        _define(library, operation["operation"])
    namespace.kernelwright_library = library


def _define(library, operation):
    table = _control.contract(operation)
    library.define(table["torch_schema"], tags=(torch.Tag.pt2_compliant_tag,))
    name = f"kw::{operation}"
    for device in ("cpu", "cuda"):
        library.impl(operation, functools.partial(_run, operation, device), device.upper())
    torch.library.register_fake(name, functools.partial(_fake, operation), lib=library)
    if any(row["role"] == "mutated" for row in table["parameters"]):
        return  # PyTorch has gradients of functional operators only
    if table["backward"]:
        torch.library.register_autograd(name, functools.partial(_backward, operation),
                                        setup_context=functools.partial(_save, operation),
                                        lib=library)
    elif _is_backward(operation):
        torch.library.register_autograd(name, functools.partial(_no_second, operation), lib=library)


@functools.cache
def _is_backward(operation):
    return any(known["backward"] == operation for known in _control.list()["operations"])


@functools.cache
def _bound(operation, variant, device):
    if not _control.initialized():
        raise RuntimeError(f"torch.ops.kw.{operation}: call kernelwright.initialize() first; it "
                           f"chooses implementations once")
    found = _library.ffi()["call"](operation, variant, device)
    if found is None:
        raise NotImplementedError(f"torch.ops.kw.{operation}: {operation}/{variant} is eager or "
                                  f"absent on {device}: see kernelwright.explain('{operation}')")
    return found


@functools.cache
def _rows(operation):
    """Rows that are arguments of the schema, in its positional order; outputs apart."""
    rows = _control.contract(operation)["parameters"]
    return ([row for row in rows if row["role"] != "output"],
            [row for row in rows if row["role"] == "output"])


def _named(operation, args):
    return dict(zip((row["name"] for row in _rows(operation)[0]), args))


def _first_variant(operation):
    return _control.contract(operation)["variants"][0]["name"]


def _run(operation, device, *args, variant=None, **wants):
    variant = variant or _first_variant(operation)  # PyTorch leaves out what equals its default
    given = _named(operation, args)
    wants = {row["name"]: wants.get(f"want_{row['name']}", False) if row["optional"] else None
             for row in _rows(operation)[1]}
    crossing = [wants[row["name"]] if row["role"] == "output" else given.get(row["name"])
                for row in _control.contract(operation)["parameters"]]
    call = _bound(operation, variant, device)
    result = _autograd.dense_retry(call, crossing, _gradient_places(operation))
    return _complete(operation, variant, result, wants, given)


@functools.cache
def _gradient_places(operation):
    """Rows of a backward that autograd fills in: their layout is nobody's choice."""
    for known in _control.list()["operations"]:
        if known["backward"] == operation:
            link = _signature.gradient(known["operation"], _first_variant(operation))
            return tuple(i for i, (kind, _) in enumerate(link.sources) if kind == "gradient")
    return ()


def _complete(operation, variant, result, wants, given):
    """Every output of the schema, empty where it was not wanted."""
    import tvm_ffi
    present = iter(result if isinstance(result, tvm_ffi.Array) else (result,))
    full = []
    for row in _rows(operation)[1]:
        wanted = wants[row["name"]] is not False and _signature.in_variant(row, variant)
        if wanted:
            value = next(present)
            full.append(list(value) if isinstance(value, tvm_ffi.Array) else value)
        else:
            full.append(_empty(row, variant, operation, given))
    return full[0] if len(full) == 1 else tuple(full)


def _empty(row, variant, operation, given):
    if row["kind"] == "tensor_list":
        return []
    like = next(t for t in _tensors(given.values()))
    try:
        dtype = _infer(operation, variant, given)[1](row)
    except KeyError:  # its dtype belongs to an input that this variant lacks
        dtype = like.dtype
    return like.new_empty((0,), dtype=dtype)


def _tensors(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _infer(operation, variant, given):
    """Functions from an output's row to its sizes and to its dtype, sizes symbolic or not."""
    sizes, dtypes, batch = {}, {}, []
    for row in _rows(operation)[0]:
        value = given.get(row["name"])
        if row["kind"] == "int" and value is not None:
            sizes[row["name"]] = value
        if value is None or not _signature.is_tensor(row):
            continue
        for tensor in (value if row["kind"] == "tensor_list" else [value]):
            fixed = [dim for dim in row["dims"] if not dim.get("batch")]
            lead = tensor.dim() - len(fixed)
            if lead < 0:
                raise ValueError(f"{operation}/{variant}: '{row['name']}' has {tensor.dim()} "
                                 f"dimensions; its shape is {row['shape']}")
            if len(fixed) != len(row["dims"]) and not batch:
                batch.append(tensor.shape[:lead])
            for dim, size in zip(fixed, tensor.shape[lead:]):
                if dim["s"] and not dim["t"] and dim["scale"] == 1:
                    sizes.setdefault(dim["s"], size - dim["offset"])
            rule = row["dtypes"]
            dtypes.setdefault(rule["declares"] or rule["terms"][0]["symbol"], tensor.dtype)

    def shape_of(row):
        shape = []
        for dim in row["dims"]:
            if dim.get("batch"):
                shape += batch[0]
            else:
                shape.append(dim["scale"] * (sizes[dim["s"]] if dim["s"] else 1)
                             * (sizes[dim["t"]] if dim["t"] else 1) + dim["offset"])
        return shape

    def dtype_of(row):
        term = row["dtypes"]["terms"][0]
        if term["kind"] == "fixed":
            return DTYPES[term["dtype"]]
        bound = dtypes[term["symbol"]]
        return bound if term["kind"] == "symbol" else accumulator(bound)
    return shape_of, dtype_of


def _fake(operation, *args, variant=None, **wants):
    table = _control.contract(operation)
    variant = variant or _first_variant(operation)
    names = [known["name"] for known in table["variants"]]
    if variant not in names:
        raise KeyError(f"{operation} has no variant '{variant}'; it has {', '.join(names)}")
    inputs, outputs = _rows(operation)
    given = {row["name"]: None if row["optional"] else row.get("default") for row in inputs}
    given.update(_named(operation, args))
    shape_of, dtype_of = _infer(operation, variant, given)
    like = next(t for t in _tensors(given.values()))
    full = []
    for row in outputs:
        wanted = _signature.in_variant(row, variant) and \
            (not row["optional"] or wants.get(f"want_{row['name']}", False))
        if not wanted:
            full.append(_empty(row, variant, operation, given))
        elif row["kind"] == "tensor_list":
            first = next(r["name"] for r in inputs if r["kind"] == "tensor_list")
            full.append([like.new_empty(shape_of(row), dtype=dtype_of(row))
                         for _ in given[first]])
        else:
            full.append(like.new_empty(shape_of(row), dtype=dtype_of(row)))
    return full[0] if len(full) == 1 else tuple(full)


def _save(operation, ctx, inputs, keyword_only_inputs, output):
    given = _named(operation, inputs)
    ctx.variant = keyword_only_inputs.get("variant") or _first_variant(operation)
    link = _signature.gradient(operation, ctx.variant)
    outputs = output if isinstance(output, tuple) else (output,)
    made = dict(zip((row["name"] for row in _rows(operation)[1]), outputs))
    gradients = {name for kind, name in link.sources if kind == "gradient"}
    ctx.mark_non_differentiable(*[t for name, t in made.items()
                                  if name not in gradients and isinstance(t, torch.Tensor)])
    # What was not wanted is empty; the backward recomputes it if its contract allows.
    ctx.names = [name for name, value in {**given, **made}.items()
                 if isinstance(value, torch.Tensor) and (name in given or name in link.saved)
                 and not (name in made and value.numel() == 0 and not keyword_only_inputs.get(
                     f"want_{name}", True))]
    both = {**given, **made}
    ctx.save_for_backward(*[both[name] for name in ctx.names])
    ctx.scalars = {row["name"]: given[row["name"]] for row in _rows(operation)[0]
                   if not _signature.is_tensor(row)}


def _backward(operation, ctx, *gradients):
    link = _signature.gradient(operation, ctx.variant)
    known = {**ctx.scalars, **dict(zip(ctx.names, ctx.saved_tensors))}
    of = dict(zip((row["name"] for row in _rows(operation)[1]), gradients))
    forward = [row["name"] for row in _rows(operation)[0]]
    need = dict(zip(forward, ctx.needs_input_grad))
    inputs, wants = [], {}
    for row, (kind, name) in zip(link.backward.rows, link.sources):
        if row["role"] == "output":
            wants[f"want_{row['name']}"] = kind == "want" and need[name]
        elif kind == "gradient":
            inputs.append(of[name])
        else:
            inputs.append(known.get(name) if kind in ("input", "output") else None)
    if not any(wants.values()):
        return (None,) * len(forward)
    operator = getattr(torch.ops.kw, link.backward.operation).default
    results = operator(*inputs, variant=ctx.variant, **wants)
    results = results if isinstance(results, (tuple, list)) else (results,)
    by_name = {}
    rows = [row for row in link.backward.rows if row["role"] == "output"]
    for row, result in zip(rows, results):
        if wants[f"want_{row['name']}"]:
            by_name[row["name"][1:]] = result
    return tuple(by_name.get(name) for name in forward)


def _no_second(operation, ctx, *_):
    raise NotImplementedError(f"{operation} is a first derivative and has none of its own: a second "
                              f"backward through it is not possible")


def traced(sig):
    """A slot's call through the dispatcher: what torch.compile, subclasses and modes see."""
    register()
    operator = getattr(torch.ops.kw, sig.operation).default
    inputs, outputs = _rows(sig.operation)
    optional = [row["name"] for row in outputs if row["optional"]]
    link = _signature.gradient(sig.operation, sig.variant)
    variant = sig.variant
    here = [row["name"] for row in outputs if _signature.in_variant(row, variant)]
    places = [row["name"] for row in outputs]
    saved = link.saved if link is not None else ()
    differentiable = link.differentiable if link is not None else ()
    names = [row["name"] for row in inputs]
    defaults = {row["name"]: None if row["optional"] else row.get("default") for row in inputs}

    def call(**arguments):
        for name in here:
            if arguments[name] is not None:
                raise ValueError(f"{sig.label}: '{name}' cannot be brought along through the "
                                 f"dispatcher (torch.compile, tensor subclasses); leave it out")
        recording = torch.is_grad_enabled() and any(
            arguments[name] is not None and arguments[name].requires_grad
            for name in differentiable)
        wants = {f"want_{name}": bool(arguments.get(f"want_{name}")) or
                 (recording and name in saved) for name in optional}
        results = operator(*[arguments.get(name, defaults[name]) for name in names],
                           variant=variant, **wants)
        results = results if isinstance(results, (tuple, list)) else (results,)
        kept = [result for name, result in zip(places, results) if name in here and
                (name not in optional or arguments.get(f"want_{name}"))]
        return kept[0] if len(kept) == 1 else tuple(kept)
    return call
