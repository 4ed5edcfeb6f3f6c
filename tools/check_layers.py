#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The include graph obeys the order of DESIGN 3: a file includes only what stands left of it."""

import re

import source_tree

# Files of one rank do not see each other; neither do the folders of backend/.
ORDER = [["base"], ["core"], ["runtime"], ["jit"], ["suite"], ["tune"], ["backend"], ["ops", "ep"],
         ["catalog"], ["capi", "ffi"], ["examples"], ["cli"], ["tests"]]
RANK = {layer: rank for rank, layers in enumerate(ORDER) for layer in layers}

VENDOR = re.compile(r"^(hwy/|cuda|cooperative_groups|nv[a-z]+\.h|nvrtc|nccl|cublas|cudnn|cutlass/|"
                    r"cute/|oneapi/|dnnl|mkl|immintrin\.h|omp\.h)")
DEVICE_TOOLKIT = re.compile(r"^(cuda|cooperative_groups|nv[a-z]+\.h|nvrtc|cutlass/|cute/)")
THIRD_PARTY = re.compile(r"^(fmt/|nlohmann/|yaml-cpp/|CLI/|openssl/|gtest/|gmock/|benchmark/)")
MAY_SEE_VENDOR = {"backend", "ops", "ep", "kit", "tests"}
MAY_SEE_KIT = {"backend", "ops", "ep", "kit", "tests"}


def place(root, path):
    """(layer, folder): ("backend", "cpu"), ("ops", "rms_norm"), ("core", "")."""
    parts = path.relative_to(root).parts
    if parts[0] in ("tests", "examples"):
        return parts[0], parts[1] if len(parts) > 2 else ""
    if parts[0] == "include":
        return "capi", ""
    layer, folder = parts[1], parts[2] if len(parts) > 3 else ""
    if layer == "ops" and not folder:
        return "catalog", ""
    return layer, folder


def is_body(path):
    return "_body." in path.name


def is_private(path):
    """Not installed: kernel bodies, and headers whose opening comment says `Private:`."""
    opening = source_tree.text_of(path).split("#pragma once")[0]
    return is_body(path) or "Private:" in opening


def objection(root, path, target):
    """Why `path` may not include the project file `target`, or None."""
    layer, folder = place(root, path)
    to_layer, to_folder = place(root, target)
    same_folder = (layer, folder) == (to_layer, to_folder)
    if is_body(target):
        return None if same_folder and layer in ("ops", "ep") else \
            "a kernel body belongs to the host file of its own folder"
    if path.name == "cfg.hpp" and not same_folder and (to_layer, to_folder) != ("kit", "shared"):
        return "cfg.hpp is freestanding: of other folders it may see kit/shared only"
    if layer == "kit":
        return None if to_layer == "kit" and to_folder in ("shared", folder) else \
            f"kit/{folder} may see kit/shared only"
    if to_layer == "kit":
        if layer == "suite" and to_folder == "shared":
            return None  # a test input is described once, for host and device
        return None if layer in MAY_SEE_KIT else f"{layer} may not see kit"
    if same_folder and layer != "catalog":
        return None
    if layer == to_layer:
        if layer == "backend":
            return f"backend/{folder} may not see backend/{to_folder}"
        if layer == "ops":
            return None if target.name == "contract.hpp" else \
                "an operation uses another only through its contract.hpp"
        return None
    if layer not in RANK or to_layer not in RANK:
        return f"'{layer if layer not in RANK else to_layer}' has no place in the order of layers"
    if RANK[to_layer] >= RANK[layer]:
        return f"{layer} stands left of or beside {to_layer}"
    return None


def problems(root):
    checked, found = 0, []
    for path in source_tree.files(root, ["src", "include", "examples", "tests"],
                                  source_tree.CXX_SUFFIXES):
        checked += 1
        layer, folder = place(root, path)
        installed = layer in RANK and layer not in ("cli", "tests", "examples") and \
            path.suffix in source_tree.HEADER_SUFFIXES and not is_private(path)

        def complain(line, text):
            found.append(f"{path.relative_to(root)}:{line}: {text}")

        for line, name, quoted in source_tree.includes(path):
            if not quoted:
                if VENDOR.match(name) and layer not in MAY_SEE_VENDOR:
                    complain(line, f"<{name}>: vendor headers are for backend, ops, ep and kit")
                elif layer == "kit" and DEVICE_TOOLKIT.match(name):
                    complain(line, f"<{name}>: kit needs no device toolkit")
                elif path.name == "cfg.hpp" or (layer == "kit" and folder in ("shared", "cuda")):
                    complain(line, f"<{name}>: this file is freestanding")
                elif installed and THIRD_PARTY.match(name):
                    complain(line, f"<{name}>: an installed header needs the standard library only; "
                                   "say `Private:` in its opening comment if nobody outside needs it")
                continue
            target = source_tree.resolve(root, name, path)
            if target is None:
                complain(line, f'"{name}": no such file; includes are spelled '
                               '"kernelwright/<layer>/x.hpp"')
                continue
            why = objection(root, path, target)
            if why:
                complain(line, f'"{name}": {why}')
            elif installed and is_private(target):
                complain(line, f'"{name}" is private, and this header is installed')
    return checked, found


if __name__ == "__main__":
    source_tree.report("layers", *problems(source_tree.parser(__doc__).parse_args().root))
