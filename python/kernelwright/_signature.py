# SPDX-License-Identifier: Apache-2.0
"""A contract's table as Python sees it: who is an argument, in which order they cross, and how a
forward meets its backward."""

import functools
import keyword
from collections import namedtuple

from kernelwright._control import contract


class Signature(namedtuple("Signature", "operation variant rows positional keywords")):
    """One operation/variant. `rows` are the table's, in its order, which is that of the crossing;
    `positional` and `keywords` are (name, default text or None)."""

    __slots__ = ()

    @property
    def label(self):
        return f"{self.operation}/{self.variant}"

    def parameters(self):
        """Python's parameter list: "x, weight, eps=1e-06, *, want_rstd=False, y=None, rstd=None"."""
        def text(item):
            return item[0] if item[1] is None else f"{item[0]}={item[1]}"
        parts = [text(item) for item in self.positional]
        return ", ".join(parts + ["*"] + [text(item) for item in self.keywords])

    def crossing(self):
        """The arguments of the crossing in terms of those parameters."""
        return [self._crossed(row) for row in self.rows]

    def _crossed(self, row):
        name = row["name"]
        if not in_variant(row, self.variant):
            return "None"
        if row["role"] != "output":
            return name
        return f"{name} if {name} is not None else want_{name}" if row["optional"] else name


def in_variant(row, variant):
    return variant in row.get("variants", [variant])


def is_tensor(row):
    return row["kind"] in ("tensor", "tensor_list")


@functools.cache
def signature(operation, variant):
    """KeyError for names that do not exist."""
    table = contract(operation)
    names = [known["name"] for known in table["variants"]]
    if variant not in names:
        raise KeyError(f"{operation} has no variant '{variant}'; it has {', '.join(names)}")
    rows = tuple(table["parameters"])
    positional, keywords = [], []
    for row in rows:
        if not row["name"].isidentifier() or keyword.iskeyword(row["name"]):
            raise RuntimeError(f"{operation}: '{row['name']}' is no Python name")
        if not in_variant(row, variant):
            continue
        if row["role"] == "output":
            if row["optional"]:
                keywords.append((f"want_{row['name']}", "False"))
        elif is_tensor(row) and not row["optional"]:
            after_default = any(default is not None for _, default in positional)
            (keywords if after_default else positional).append((row["name"], None))
        else:
            default = None if row["optional"] else row["default"]
            positional.append((row["name"], repr(default)))
    # A keyword without default stands first, for people; Python does not mind.
    keywords += [(row["name"], "None") for row in rows
                 if row["role"] == "output" and in_variant(row, variant)]
    return Signature(operation, variant, rows, tuple(positional), tuple(keywords))


def inputs(sig):
    """Names of the tensors that go in, and of the scalars and want_<output>, in the order of the call."""
    tensors = {row["name"] for row in sig.rows if row["role"] != "output" and is_tensor(row)}
    outputs = {row["name"] for row in sig.rows if row["role"] == "output"}
    names = [name for name, _ in sig.positional + sig.keywords if name not in outputs]
    return [n for n in names if n in tensors], [n for n in names if n not in tensors]


def grouped(sig):
    """The text of those: every argument of an autograd.Function takes 0.3 us, so that what is no tensor
    goes as one tuple."""
    tensors, others = inputs(sig)
    return ", ".join(tensors + [f"({', '.join(others)},)"] * bool(others))


def first_tensor(sig):
    """Name of the parameter whose type and device stand for the call."""
    for row in sig.rows:
        if row["role"] in ("input", "mutated") and in_variant(row, sig.variant) \
                and not row["optional"] and is_tensor(row):
            return row["name"], row["kind"] == "tensor_list"
    raise RuntimeError(f"{sig.label} has no required input tensor")


class Gradient(namedtuple("Gradient", "backward differentiable saved sources")):
    """How a forward meets its backward, by equal names, and `d<name>` for gradients: the Signature
    `backward`; `differentiable`, names of the forward's inputs that have a gradient; `saved`, names of
    forward outputs that the backward reads; `sources`, per row of the backward:
    ("input"|"output"|"gradient"|"want"|"none", name)."""

    __slots__ = ()


@functools.cache
def gradient(operation, variant):
    """None when the operation has no backward."""
    name = contract(operation)["backward"]
    if not name:
        return None
    forward, backward = signature(operation, variant), signature(name, variant)
    rows = {row["name"]: row for row in forward.rows if in_variant(row, variant)}
    sources = []
    for row in backward.rows:
        name, given = row["name"], rows.get(row["name"])
        partner = rows.get(name[1:]) if name.startswith("d") else None
        if not in_variant(row, variant):
            sources.append(("none", name))
        elif row["role"] == "output":
            sources.append(("want", name[1:]))
        elif given is not None:
            sources.append(("output" if given["role"] == "output" else "input", name))
        elif partner is not None and partner["role"] == "output":
            sources.append(("gradient", name[1:]))
        elif row["optional"] or not is_tensor(row):
            sources.append(("none", name))
        else:
            raise RuntimeError(f"{backward.label}: '{name}' is neither a parameter of "
                               f"{forward.label} nor the gradient of one of its outputs")
    wanted = {name for kind, name in sources if kind == "want"}
    differentiable = tuple(name for name, row in rows.items()
                           if row.get("differentiable") and name in wanted)
    saved = tuple(name for kind, name in sources if kind == "output")
    return Gradient(backward, differentiable, saved, tuple(sources))
