# SPDX-License-Identifier: Apache-2.0
"""Control requests: JSON through the C ABI, no tensors."""

import builtins
import ctypes
import functools
import os

from kernelwright import _library

_EXCEPTIONS = {1: ValueError, 2: KeyError, 3: NotImplementedError}


def control(command, **fields):
    """Answer of one control request; `fields` that are None are left to the library's defaults."""
    import json  # 13 ms, with its regular expressions

    request = {"command": command, **{k: v for k, v in fields.items() if v is not None}}
    reply = ctypes.c_void_p()
    core = _library.core()
    code = core.kw_control(json.dumps(request).encode(), ctypes.byref(reply))
    if code != 0:
        raise _EXCEPTIONS.get(code, RuntimeError)(core.kw_last_error().decode())
    try:
        return json.loads(ctypes.string_at(reply))
    finally:
        core.kw_free(reply)


_initialized = False


def initialize(config=None, overrides=None, device=None, mode=None, prepare_on_miss=None,
               require_evidence=None):
    """Chooses implementations once for this process.

    config: path of a YAML file with model.ops_implementation, or what load_config returned.
    overrides: operation -> solution, exact name, list of these, "auto" or "eager".
    device: "auto" (cuda where the driver shows one, else cpu), "cpu", "cuda", "cuda:1".
    require_evidence: prepare only what is known to have passed `kw numerics` on such a device;
        None: as the file says, else False. A Python callable never is.

    The same effective settings again do nothing; others raise RuntimeError, for plans and captured
    graphs depend on the first.
    """
    from kernelwright import registry
    registry.discover()
    fields = {"overrides": overrides, "device": device or "auto", "mode": mode,
              "prepare_on_miss": prepare_on_miss, "require_evidence": require_evidence}
    if isinstance(config, Config):
        fields["config_text"] = config.text
    elif config is not None:
        fields["config_file"] = os.fspath(config)
    reply = control("initialize", **fields)
    global _initialized
    _initialized = True
    return reply


def initialized():
    """Whether initialize() succeeded in this process, perhaps called on an earlier import."""
    global _initialized
    if not _initialized:
        try:
            counters()
            _initialized = True
        except RuntimeError:
            pass
    return _initialized


class Config:
    """The text of a configuration, read once; its names are checked by initialize()."""

    def __init__(self, text, path):
        self.text, self.path = text, path

    def __repr__(self):
        return f"Config({self.path!r})"


def load_config(path):
    """A configuration file, to hand to initialize(); OSError when it cannot be read."""
    with open(path, encoding="utf-8") as file:
        return Config(file.read(), os.fspath(path))


def list(operation=None):  # noqa: A001: the name the command line has
    """What this build has, as `kw list --json`."""
    return control("list", operation=operation)


def explain(subject, variant=None, device=None):
    """Every candidate for an operation, or for a problem ("my_gate/standard x=bf16[4,64] ..."),
    with the gate that stopped it, as `kw explain --json`. Needs initialize()."""
    if " " in subject:
        return control("explain", problem=subject, device=device)
    operation, _, named = subject.partition("/")
    return control("explain", operation=operation, variant=variant or named or None, device=device)


def prepare(problems, device=None, cfg=None):
    """Compiles and loads what serves these problems, so that no call waits. A dimension `?` stands
    for any size. A string, or several."""
    single = isinstance(problems, str)
    reply = control("prepare", problems=[problems] if single else builtins.list(problems),
                    device=device, cfg=cfg)
    return reply["prepared"][0] if single else reply["prepared"]


def doctor():
    """This machine and environment, each problem with its fix, as `kw doctor --json`."""
    return control("doctor")


def counters():
    """Plans built, misses and refusals of the process's context."""
    return control("counters")


@functools.cache
def contract(operation):
    """The contract's table, from which everything here is derived. Do not change it."""
    return control("contract", operation=operation)
