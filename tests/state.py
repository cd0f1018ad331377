#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""state.py PID: a hash over the memory of a stopped program: its variables and its heap.

Variables are the writable parts of the program's own file, and what follows them (.bss); the heap lies at the
addresses of src/hook/common/addresses.h. Stacks are left out: what is below a frame is what our own waiting
left there. With --dump DIR the pages go there, for who wants to see the difference."""
import hashlib
import os
import sys

TIB = 1 << 40
HEAP = range(24 * TIB, 74 * TIB)


def parts(pid, program):
    before = None
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for line in maps:
            words = line.split(None, 5)
            start, end = (int(x, 16) for x in words[0].split("-"))
            path = words[5].strip() if len(words) > 5 else ""
            own = path == program or (not path and before == start)
            before = end if own else None
            if "w" in words[1] and (own or start in HEAP):
                yield start, end


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
