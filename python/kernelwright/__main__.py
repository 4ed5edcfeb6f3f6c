# SPDX-License-Identifier: Apache-2.0
"""The command line of `kw`, with the implementations of Python in its catalog:
python -m kernelwright numerics --implementation torch --batch smoke"""

import ctypes
import sys

from kernelwright import _library, registry


def main():
    registry.discover()
    words = ["kw", *sys.argv[1:]]
    argv = (ctypes.c_char_p * (len(words) + 1))(*(word.encode() for word in words), None)
    sys.stdout.flush()
    return _library.command_line()(len(words), argv)


if __name__ == "__main__":
    sys.exit(main())
