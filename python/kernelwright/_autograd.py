# SPDX-License-Identifier: Apache-2.0
"""Gradients of bound calls: one torch.autograd.Function per operation, variant and device, written
out from the contracts of forward and backward. (torch.ops has its own, see _torch.py: this one
skips the dispatcher.)"""

import torch

from kernelwright import _library, _signature
from kernelwright._calls import array_functions, unpacked


class NoSecondDerivative(torch.autograd.Function):
    """Gradients pass; to differentiate them is an error that says whose they are."""

    @staticmethod
    def forward(ctx, label, count, *tensors):
        ctx.label = label
        return tuple(tensor.view_as(tensor) for tensor in tensors[:count])

    @staticmethod
    def backward(ctx, *_):
        raise NotImplementedError(f"{ctx.label} is a first derivative and has none of its own: "
                                  f"a second backward through it is not possible")


def sealed(label, gradients, inputs):
    """`gradients`, of which a graph is being recorded (create_graph=True)."""
    present = [g for g in gradients if g is not None]
    tied = [t for t in inputs if t is not None and t.requires_grad]
    passed = iter(NoSecondDerivative.apply(label, len(present), *present, *tied))
    return tuple(None if g is None else next(passed) for g in gradients)


def dense_retry(function, arguments, gradient_places):
    """Calls; gradients whose layout nothing serves are copied, for autograd chose it, not the
    user."""
    try:
        return function(*arguments)
    except NotImplementedError:
        arguments = list(arguments)
        if all(arguments[i].is_contiguous() for i in gradient_places):  # also when there is none
            raise
        for i in gradient_places:
            arguments[i] = arguments[i].contiguous()
        return function(*arguments)


def backward_call(link, device):
    """The bound backward of a link; NotImplementedError when the model's own code was chosen."""
    label = link.backward.label
    found = _library.ffi()["call"](link.backward.operation, link.backward.variant, device)
    if found is None:
        raise NotImplementedError(f"a gradient is wanted, but {label} is eager or absent here: see "
                                  f"kernelwright.explain('{label}')")
    if device.startswith("cuda"):
        found.release_gil = False
    return found


def recorded(sig, device, function):
    """The call of a bound slot with autograd; parameters as the slot's."""
    link = _signature.gradient(sig.operation, sig.variant)
    names = [name for name, _ in sig.positional]
    outputs = [row for row in sig.rows
               if row["role"] == "output" and _signature.in_variant(row, sig.variant)]
    brought = [row["name"] for row in outputs]
    optional = [row["name"] for row in outputs if row["optional"]]
    gradients = [name for kind, name in link.sources if kind == "gradient"]
    scalars = [row["name"] for row in sig.rows
               if not _signature.is_tensor(row) and row["name"] in names]
    tensors = [name for name in names if name not in scalars]
    wants = [f"want_{name}" for name in optional]

    # The forward: everything that backward reads is wanted.
    made = [row["name"] for row in outputs
            if not row["optional"] or row["name"] in link.saved]
    asked = {name: "True" if name in link.saved else f"want_{name}" for name in optional}
    crossing = [asked.get(row["name"], "None") if row["role"] == "output"
                else row["name"] if _signature.in_variant(row, sig.variant) else "None"
                for row in sig.rows]
    extra = [name for name in optional if name not in made]  # present only if wanted
    returned = [name for name in brought if name not in optional]
    lines = ["@staticmethod", f"def forward(ctx, {', '.join(names + wants)}):",
             f"    r = _f({', '.join(crossing)})"]
    if len(brought) == 1:
        lines.append(f"    {made[0]} = r")
    elif extra:
        lines.append("    r = iter(_unpacked(r) if type(r) is _Array else (r,))")
        lines += [f"    {name} = next(r)" if name in made
                  else f"    {name} = next(r) if want_{name} else None" for name in brought]
    elif len(made) == 1:
        lines.append(f"    {made[0]} = r")
    else:
        lines.append(f"    {', '.join(made)} = {', '.join(f'_item(r, {i})' for i in range(len(made)))}")
    lines.append(f"    ctx.save_for_backward({', '.join(tensors + list(link.saved))})")
    lines.append(f"    ctx.scalars = ({', '.join(scalars)}{',' if scalars else ''})")
    rest = [name for name in brought if name not in gradients]
    for name in rest:
        condition = f"want_{name}" if name in optional else "True"
        lines.append(f"    if {condition}: ctx.mark_non_differentiable({name})")
    if optional:
        lines.append(f"    if {' or '.join(wants)}:")
        lines.append("        return (" + ", ".join(returned) + ("," if returned else "") + ") + "
                     + " + ".join(f"(({name},) if want_{name} else ())" for name in optional))
    lines.append("    return " + ", ".join(returned))

    # The backward: gradients of the outputs in, gradients of the inputs out.
    lines += ["@staticmethod",
              f"def backward(ctx, {', '.join(f'd_{name}=None' for name in brought)}):",
              f"    {', '.join(tensors + list(link.saved))}, = ctx.saved_tensors"]
    if scalars:
        lines.append(f"    {', '.join(scalars)}, = ctx.scalars")
    lines.append("    need = ctx.needs_input_grad")
    spelled = {"gradient": lambda n: f"d_{n}", "input": lambda n: n, "output": lambda n: n,
               "want": lambda n: f"need[{names.index(n)}]", "none": lambda _: "None"}
    arguments = [spelled[kind](name) for kind, name in link.sources]
    places = [i for i, (kind, _) in enumerate(link.sources) if kind == "gradient"]
    lines.append(f"    r = _retry(_backward(), ({', '.join(arguments)}), {places})")
    lines.append("    r = iter(_unpacked(r) if type(r) is _Array else (r,))")
    results = [name for kind, name in link.sources if kind == "want"]
    lines += [f"    g_{name} = next(r) if need[{names.index(name)}] else None" for name in results]
    returned = [f"g_{name}" if name in results else "None" for name in names] + ["None"] * len(wants)
    lines.append("    if _grad_enabled():")
    lines.append(f"        {', '.join(f'g_{n}' for n in results)}, = _sealed("
                 f"({', '.join(f'g_{n}' for n in results)},), "
                 f"({', '.join(tensors)}, {', '.join(f'd_{n}' for n in gradients)}))")
    lines.append(f"    return {', '.join(returned)}")

    import tvm_ffi
    held = []

    def backward():
        if not held:
            held.append(backward_call(link, device))
        return held[0]
    scope = {"_f": function, "_backward": backward, "_retry": dense_retry, "_Array": tvm_ffi.Array,
             "_item": array_functions()[0], "_unpacked": unpacked,
             "_grad_enabled": torch.is_grad_enabled,
             "_sealed": lambda g, i: sealed(link.backward.label, g, i)}
    exec("\n".join(lines), scope)  # pylint: disable=exec-used
    apply = type("Recorded", (torch.autograd.Function,),
                 {"forward": scope["forward"], "backward": scope["backward"]}).apply

    body = [f"def call({', '.join(names + wants + brought)}):"]
    if brought:
        body.append(f"    if {' or '.join(f'{name} is not None' for name in brought)}:")
        body.append("        raise ValueError(_message)")
    body.append(f"    return _apply({', '.join(names + wants)})")
    scope.update(_apply=apply, _message=f"{sig.label}: outputs cannot be brought along while "
                 f"gradients are recorded; leave out {', '.join(brought)}, or use torch.no_grad()")
    exec("\n".join(body), scope)  # pylint: disable=exec-used
    return scope["call"]
