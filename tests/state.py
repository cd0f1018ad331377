#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""state.py PID: a hash over the memory of a stopped program: its variables and its heap.

Variables are the writable parts of the program's own file, and what follows them (.bss); the heap lies at the
addresses of src/hook/common/addresses.h. Stacks are left out: what is below a frame is what our own waiting
left there. With --dump DIR the pages go there, for who wants to see the difference."""
import hashlib
import os
import struct
import sys

TIB = 1 << 40
HEAP = range(24 * TIB, 74 * TIB)


def variables(program):
    """Where the program's file wants its writable parts, from its first byte on."""
    with open(program, "rb") as file:
        head = file.read(64)
        file.seek(int.from_bytes(head[32:40], "little"))
        table = [file.read(56) for _ in range(int.from_bytes(head[56:58], "little"))]
    loads = [struct.unpack("<IIQQQQQQ", entry) for entry in table if entry[:4] == b"\1\0\0\0"]
    base = loads[0][3] & -4096
    for _, flags, _, at, _, _, size, _ in loads:
        if flags & 2:
            yield (at & -4096) - base, (at + size + 4095 & -4096) - base


def parts(pid, program):
    """The kernel may join what follows the variables with them, or with the heap of libc."""
    maps = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        for line in file:
            words = line.split(None, 5)
            start, end = (int(x, 16) for x in words[0].split("-"))
            maps.append((start, end, "w" in words[1], words[5].strip() if len(words) > 5 else ""))
    base = min(start for start, _, _, path in maps if path == program)
    own = [(base + first, base + last) for first, last in variables(program)]
    for start, end, writable, _ in maps:
        if not writable:
            continue
        if start in HEAP:
            yield start, end
        for first, last in own:
            if max(start, first) < min(end, last):
                yield max(start, first), min(end, last)


def main():
    pid = sys.argv[1]
    program = os.readlink(f"/proc/{pid}/exe")
    dump = sys.argv[3] if len(sys.argv) > 3 else None
    total = hashlib.sha256()
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for start, end in parts(pid, program):
            for at in range(start, end, 4096):
                memory.seek(at)
                page = memory.read(4096)
                if page == bytes(4096):
                    continue
                total.update(at.to_bytes(8, "little") + page)
                if dump:
                    with open(f"{dump}/{at:x}", "wb") as out:
                        out.write(page)
    print(total.hexdigest())


main()
