# SPDX-License-Identifier: Apache-2.0
"""The shared libraries of this package: libkw.so (C ABI, through ctypes) and libkw_ffi.so (tensors,
through Apache TVM FFI). The second is opened at the first bind, for it brings numpy and PyTorch in."""

import ctypes
import functools
import os

# In a build tree the package is links into the sources, and lib/ lies beside the links.
FOLDER = os.path.dirname(os.path.abspath(__file__))


def _open(name, mode=ctypes.DEFAULT_MODE):
    path = os.path.join(FOLDER, "lib", name)
    if not os.path.exists(path):
        raise ImportError(f"kernelwright: {path} is missing; install the wheel, or build the tree "
                          f"(make) and import from build/release/python")
    return ctypes.CDLL(path, mode=mode)


@functools.cache
def core():
    """libkw.so, opened at the first use: it and what it needs take 8 ms (Xeon, 2.5 GHz)."""
    library = _open("libkw.so", ctypes.RTLD_GLOBAL)
    library.kw_version.restype = ctypes.c_char_p
    library.kw_last_error.restype = ctypes.c_char_p
    library.kw_control.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    library.kw_free.argtypes = [ctypes.c_void_p]
    library.kw_free.restype = None
    return library


def version():
    return core().kw_version().decode()


@functools.cache
def ffi():
    """Global functions of libkw_ffi.so by name: call, bind, register."""
    try:
        import tvm_ffi
    except ImportError as error:
        raise ImportError("kernelwright: tensors cross through apache-tvm-ffi, which is not "
                          "installed; pip install apache-tvm-ffi") from error
    tvm_ffi.register_error("NotImplementedError", NotImplementedError)
    core()  # with its symbols for everyone, as plugins need them
    _open("libkw_ffi.so")
    return {name: tvm_ffi.get_global_func(f"kw.{name}") for name in ("call", "bind", "register")}


@functools.cache
def command_line():
    """kw_main(argc, argv) of libkw_cli.so."""
    core()
    library = _open("libkw_cli.so")
    library.kw_main.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    return library.kw_main
