# SPDX-License-Identifier: Apache-2.0
"""The shared libraries of this package: libkw.so (C ABI, through ctypes) and libkw_ffi.so (tensors,
through Apache TVM FFI). The second is opened at the first bind, for it brings numpy and PyTorch in."""

import ctypes
import functools
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def _folder():
    """lib/ beside this file. In a build tree the package is links into the sources, so not
    resolved."""
    return Path(__file__).parent / "lib"


def _open(name, mode=ctypes.DEFAULT_MODE):
    path = _folder() / name
    if not path.exists():
        raise ImportError(f"kernelwright: {path} is missing; install the wheel, or build the tree "
                          f"(make) and import from build/release/python")
    return ctypes.CDLL(str(path), mode=mode)


def _core():
    library = _open("libkw.so", ctypes.RTLD_GLOBAL)
    library.kw_version.restype = ctypes.c_char_p
    library.kw_last_error.restype = ctypes.c_char_p
    library.kw_control.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
    library.kw_free.argtypes = [ctypes.c_void_p]
    library.kw_free.restype = None
    return library


core = _core()
__version__ = core.kw_version().decode()


@functools.cache
def ffi():
    """Global functions of libkw_ffi.so by name: call, bind, register."""
    try:
        import tvm_ffi
    except ImportError as error:
        raise ImportError("kernelwright: tensors cross through apache-tvm-ffi, which is not "
                          "installed; pip install apache-tvm-ffi") from error
    tvm_ffi.register_error("NotImplementedError", NotImplementedError)
    _open("libkw_ffi.so")
    return {name: tvm_ffi.get_global_func(f"kw.{name}") for name in ("call", "bind", "register")}


@functools.cache
def command_line():
    """kw_main(argc, argv) of libkw_cli.so."""
    library = _open("libkw_cli.so")
    library.kw_main.argtypes = [ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    return library.kw_main
