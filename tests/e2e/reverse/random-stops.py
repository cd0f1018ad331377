# SPDX-License-Identifier: Apache-2.0
"""In gdb: at random stops, a step back and one forward come to the same place, registers and memory."""
import os
import random
import zlib

import gdb

STOPS = int(os.environ.get("STOPS", "50"))
PLACES = os.environ["PLACES"].split()
random.seed(int(os.environ.get("SEED", "1")))
gdb.execute("set pagination off")
gdb.execute("set confirm off")


def state():
    """Registers but for those that tell of stepping, the data, and the stack."""
    names = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip fs_base".split()
    registers = tuple(int(gdb.parse_and_eval("(long)$" + n)) for n in names)
    memory = gdb.selected_inferior()
    stack = zlib.crc32(memory.read_memory(registers[7], 512))
    data = tuple(str(gdb.parse_and_eval(n)) for n in os.environ["DATA"].split())
    return registers, stack, data


def quiet(command):
    return gdb.execute(command, to_string=True)


def is_at_end():
    return "end of its recording" in quiet("monitor where")


def check(back, forth, before):
    quiet(back)
    between = state()
    quiet(forth)
    after = state()
    if after != before:
        print("DIFFERS after %s, %s:\n  %s\n  %s\n  %s" % (back, forth, before, between, after))
        return 0
    return 1


good = moved = 0
for stop in range(STOPS):
    breakpoint = gdb.Breakpoint(random.choice(PLACES), internal=True)
    breakpoint.ignore_count = random.randrange(3)
    quiet(random.choice(["continue", "continue", "reverse-continue"]))
    breakpoint.delete()
    for _ in range(random.randrange(4)):
        if not is_at_end():
            quiet(random.choice(["stepi", "step", "next", "reverse-stepi"]))
    if is_at_end() or random.randrange(10) == 0:
        quiet("monitor goto start")
        quiet("tbreak " + PLACES[0])
        quiet("continue")
    quiet("stepi 4")  # there is something before it
    before = state()
    quiet("reverse-stepi")
    moved += state() != before
    quiet("stepi")
    good += state() == before and check("reverse-stepi 3", "stepi 3", before)
print("STOPS %d, came back %d, moved %d" % (STOPS, good, moved))
