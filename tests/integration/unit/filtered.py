#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""filtered.py - run a command below a filter that kills for every system call but those that tool/unit/unit_filter.c lists, as systemd would.

usage: filtered.py [--no-server] [--also CALL]... [--without CALL]... UNIT_FILTER_C -- COMMAND..."""

import argparse
import ctypes
import os
import platform
import re
import struct
import sys

HEADERS = {"x86_64": ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"]}
ARCHITECTURES = {"x86_64": 0xC000003E}
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, KILL_PROCESS = 0x7FFF0000, 0x80000000
AT_NUMBER, AT_ARCHITECTURE = 0, 4
SKIP = 77


def numbers():
    for path in HEADERS.get(platform.machine(), []):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", file.read())}
    print("filtered.py: no numbers of system calls for this machine", file=sys.stderr)
    sys.exit(SKIP)


def listed(path, with_server):
    with open(path, encoding="utf-8") as file:
        code = file.read()
    names = set()
    for part in ["calls", "the companion's"] + ["the sender's"] * with_server:
        found = re.search(rf"/\* begin of {part} \*/(.*?)/\* end of {part} \*/", code, re.S)
        if found is None:
            sys.exit(f"filtered.py: {path}: no list of {part}")
        names |= set(re.findall(r'"(\w+)"', found[1]))
    return names


def program_of(allowed, architecture):
    code = [(LOAD, 0, 0, AT_ARCHITECTURE), (JUMP_IF_EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL_PROCESS),
            (LOAD, 0, 0, AT_NUMBER)]
    for number in sorted(allowed):
        code += [(JUMP_IF_EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    code.append((RETURN, 0, 0, KILL_PROCESS))
    return b"".join(struct.pack("HBBI", *line) for line in code), len(code)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-server", action="store_true")
    parser.add_argument("--also", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("list")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    known = numbers()
    names = (listed(options.list, not options.no_server) | set(options.also)) - set(options.without)
    missing = sorted(name for name in names if name not in known)
    if missing:
        sys.exit(f"filtered.py: no such calls: {' '.join(missing)}")
    text, lines = program_of({known[name] for name in names}, ARCHITECTURES[platform.machine()])
    kept = ctypes.create_string_buffer(text, len(text))

    class Program(ctypes.Structure):
        _fields_ = [("lines", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    filter_ = Program(lines, ctypes.cast(kept, ctypes.c_void_p))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    arguments = [os.fsencode(word) for word in options.command]
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(filter_), 0, 0) != 0:
        print("filtered.py: no filter can be had here", file=sys.stderr)
        sys.exit(SKIP)
    os.execv(arguments[0], arguments)


if __name__ == "__main__":
    main()
