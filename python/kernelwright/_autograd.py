# SPDX-License-Identifier: Apache-2.0
"""Gradients of bound calls: one torch.autograd.Function per operation, variant and device, written
out from the contracts of forward and backward. (torch.ops has its own, see _torch.py: this one
skips the dispatcher.)"""

import torch

from kernelwright import _library, _outputs, _signature


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
    """The call of a bound slot with autograd, parameters as the slot's; and the entry of autograd that
    serves it where no output is asked for or brought along, of _signature.grouped()."""
    link = _signature.gradient(sig.operation, sig.variant)
    scope = {"_f": function, "_unpacked": _outputs.unpacked, "_present": _outputs.present,
             "_only_tensors": _only_tensors, "_grad_enabled": torch.is_grad_enabled,
             **_outputs.scope(sig, "_f", device), **_outputs.scope(link.backward, "_b", device)}

    def bind_backward():
        scope["_b"] = backward_call(link, device)

    def seal(gradients, inputs):
        return sealed(link.backward.label, gradients, inputs)
    scope.update(_bind_backward=bind_backward, _sealed=seal, _b=None)
    lines = _forward(sig, link) + _backward(sig, link)
    exec("\n".join(lines), scope)  # pylint: disable=exec-used
    made = type("Recorded", (torch.autograd.Function,),
                {"forward": staticmethod(scope["forward"]),
                 "backward": staticmethod(scope["backward"])})

    wants, always = _order(sig)
    brought = [row["name"] for row in _outputs.rows(sig)]
    passed = _signature.grouped(sig)
    body = [f"def call({', '.join(name for name, _ in sig.positional + sig.keywords)}):",
            f"    if not ({' is '.join(brought)} is None):",
            "        raise ValueError(_message)",
            "    apply = _general if _transformed() else _apply"]
    if wants:
        body += [f"    if {' or '.join(f'want_{name}' for name in wants)}:",
                 f"        {', '.join(always + wants)}, = apply({passed})",
                 f"        return _present({', '.join(brought)})"]
    body.append(f"    return apply({passed})")
    # Function.apply is a Python function around this one. It takes 4 of 11 us (Xeon, 2.5 GHz), for
    # functorch's sake; where a transform of functorch is active, it is what is called.
    apply = super(torch.autograd.Function, made).apply
    scope.update(_apply=apply, _general=made.apply, _message=f"{sig.label}: outputs cannot be brought "
                 f"along while gradients are recorded; leave out {', '.join(brought)}, or use "
                 f"torch.no_grad()", _transformed=torch._C._are_functorch_transforms_active)
    exec("\n".join(body), scope)  # pylint: disable=exec-used
    return scope["call"], apply


def _only_tensors(*outputs):
    return [each for each in outputs if each is not None]


def _order(sig):
    """Names of the outputs that are asked for, and of the others: autograd sees the latter first, and
    the former only if there is one."""
    rows = _outputs.rows(sig)
    return ([row["name"] for row in rows if row["optional"]],
            [row["name"] for row in rows if not row["optional"]])


def _kept(sig, link):
    """Names of tensors and scalars that the backward reads; what it does not read is not kept."""
    read = [name for kind, name in link.sources if kind in ("input", "output")]
    tensors = [row["name"] for row in sig.rows if row["name"] in read and _signature.is_tensor(row)]
    return tensors, [name for name in read if name not in tensors]


def _forward(sig, link):
    """Everything that the backward reads is wanted."""
    wants, always = _order(sig)
    tensors, scalars = _kept(sig, link)
    inputs, others = _signature.inputs(sig)
    made = {name: f"want_{name}" for name in wants if name not in link.saved}
    lines = [f"def forward(ctx, {', '.join(inputs + ['_others'] * bool(others))}):"]
    if others:
        lines.append(f"    {', '.join(others)}, = _others")
    lines += _indented(_refusing(sig, made))
    if tensors:
        lines.append(f"    ctx.to_save = {', '.join(tensors)},")  # all that save_for_backward() does
    if scalars:
        lines.append("    ctx.others = _others")
    with_gradient = {name for kind, name in link.sources if kind == "gradient"}
    fixed = [name for name in always if name not in with_gradient]
    if wants:
        lines.append(f"    if {' or '.join(f'want_{name}' for name in wants)}:")
        if len(wants) > 1:
            lines += [f"        if not want_{name}: {name} = None" for name in wants
                      if name not in made]
        rest = fixed + [name for name in wants if name not in with_gradient]
        if rest:
            lines.append(f"        ctx.mark_non_differentiable(*_only_tensors({', '.join(rest)}))")
        lines.append(f"        return {', '.join(always + wants)},")
    if fixed:
        lines.append(f"    ctx.mark_non_differentiable({', '.join(fixed)})")
    return lines + [f"    return {', '.join(always)}"]


def _refusing(sig, made):
    """The call, where the crossing says what is wrong with arguments that have no shape."""
    lines = _outputs.statements(sig, "_f", made)
    if _outputs.layouts(sig) is None:
        return lines
    *allocations, call = lines
    nothing = " = ".join([row["name"] for row in _outputs.rows(sig)] + ["None"])
    return ["try:", *_indented(allocations), f"except {_outputs.UNREADABLE}:",
            f"    {nothing}", f"    {call}", "    raise", call]


def _backward(sig, link):
    """Gradients of the outputs in, gradients of the inputs out; variables are named as in the
    backward's contract."""
    (names, others), back = _signature.inputs(sig), link.backward
    wants, always = _order(sig)
    tensors, scalars = _kept(sig, link)
    given = {name: row["name"] for row, (kind, name) in zip(back.rows, link.sources)
             if kind == "gradient"}
    lines = ["def backward(ctx, *gradients):", "    if _b is None: _bind_backward()"]
    for place, name in enumerate(always + wants):
        if name in given:
            lines.append(f"    {given[name]} = gradients[{place}]" +
                         (f" if len(gradients) > {place} else None" if name in wants else ""))
    if tensors:
        lines.append(f"    {', '.join(tensors)}, = ctx.saved_tensors")
    if scalars:
        lines.append(f"    {', '.join(others)}, = ctx.others")
    lines.append("    _need = ctx.needs_input_grad")
    wanted, made = {}, {}
    for row, (kind, name) in zip(back.rows, link.sources):
        if kind == "none":
            lines.append(f"    {row['name']} = None")
        elif kind == "want":
            wanted[row["name"]] = f"_need[{names.index(name)}]"
            made[name] = row["name"]
    lines += _indented(_outputs.statements(back, "_b", wanted, retried=list(given.values())))
    results = ", ".join(made.values())
    lines += ["    if _grad_enabled():",
              f"        {results}, = _sealed(({results},), ({', '.join([*tensors, *given.values()])},))"]
    returned = [made.get(name, "None") for name in names] + ["None"] * bool(others)
    return lines + [f"    return {', '.join(returned)}"]


def _indented(lines):
    return [f"    {line}" for line in lines]
