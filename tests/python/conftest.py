# SPDX-License-Identifier: Apache-2.0
"""One process, one initialise: f32 and narrower go to `native`, f64 to the reference, which
gradcheck needs. What must not share a process runs in its own, see run()."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kernelwright as kw
from kernelwright import _library

LIST = ["native", "reference"]


def pytest_configure(config):
    _library.core()  # the package's own, before one that the toys were linked with is found
    beside = Path(_library.FOLDER) / "lib" / "libkw_toy.so"  # an installed package has no toys
    toys = ctypes.CDLL(os.environ.get("KW_TOY_LIBRARY", str(beside)))
    toys.kw_add_toy_operations()
    kw.initialize(device="cpu", overrides={"rms_norm": LIST, "rms_norm_backward": LIST})


@pytest.fixture
def bound():
    """bound("rms_norm/standard") is a slot of that."""
    def make(label):
        slot = kw.OpSlot(*label.split("/"))
        kw.bind_slots([slot])
        assert slot.bound
        return slot
    return make


@pytest.fixture
def run():
    """Runs a script in a fresh process; its output, or a failure with what it said."""
    def execute(script, *arguments):
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True,
                              text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
    return execute
