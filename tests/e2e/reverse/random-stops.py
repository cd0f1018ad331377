# SPDX-License-Identifier: Apache-2.0
"""In gdb: at random stops, a step back and one forward come to the same place, registers and memory of the program."""
import os
import random
import zlib

import gdb

STOPS = int(os.environ.get("STOPS", "50"))
LINES = os.environ.get("LINES_TOO")  # "hits": of a breakpoint alone
PLACES = os.environ["PLACES"].split()
random.seed(int(os.environ.get("SEED", "1")))
gdb.execute("set pagination off")
gdb.execute("set confirm off")


NAMES = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip fs_base".split()
PROGRAM_END = 105 << 40  # above it lie our library and MPI (replay/session.h)
STACKS = range(76 << 40, 81 << 40)
MOST, FEW = 4 << 20, 1 << 13  # bytes of a mapping, and where each word is looked at


def registers():
    """But for those that tell of stepping."""
    return tuple(int(gdb.parse_and_eval("(long)$" + n)) for n in NAMES)


def is_number(word):
    """What the kernel calls a thread is another number in each process."""
    return 100 < word < 1 << 22


def digest(mem, start, end, several):
    """Of the bytes there; among threads without words that may be numbers of them."""
    mem.seek(start)
    data = mem.read(min(end - start, FEW if several else MOST))
    if not several:
        return zlib.crc32(data)
    words = memoryview(data[: len(data) & ~3]).cast("I")
    return hash(tuple(0 if is_number(w) else w for w in words))


def memory(sps, several):
    """What the program can write: its data, heaps and stacks, those from their stack pointers on."""
    pid = int(quiet("monitor state").split()[1])
    program = os.readlink("/proc/%d/exe" % pid)
    found = []
    mem = open("/proc/%d/mem" % pid, "rb", buffering=0)  # gdb asks for 16 KB at a time
    for line in open("/proc/%d/maps" % pid):
        words = line.split()
        start, end = (int(w, 16) for w in words[0].split("-"))
        path = words[5] if len(words) > 5 else ""
        if "w" not in words[1] or "s" in words[1]:
            continue
        if path == "[stack]" or start in STACKS:
            inside = [sp for sp in sps if start <= sp < end]
            if inside:
                found.append(digest(mem, min(inside), min(end, min(inside) + 2048) if several else end, several))
        elif path == program or path == "[heap]" or (not path and end <= PROGRAM_END):
            found.append((start, end, digest(mem, start, end, several)))
    return tuple(found)


def state():
    """Registers of all threads, the program's memory and its data."""
    thread, others, sps = gdb.selected_thread(), [], []
    for other in gdb.selected_inferior().threads():
        if other.num != thread.num:
            other.switch()
            all_of_it = registers()
            sps.append(all_of_it[7])
            others.append(tuple(r for r in all_of_it if not is_number(r)))
    thread.switch()
    mine = registers()
    data = tuple(str(gdb.parse_and_eval(n)) for n in os.environ["DATA"].split())
    return mine, sorted(others), memory(sps + [mine[7]], bool(others)), data


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


def come_again(back, forth):
    """
    Once `forth` has come somewhere, which is the beginning of a line or a breakpoint, `back` and `forth` lead there again. From within
    a line gdb does not come back by itself, nor among functions that are inlined: which place it stops at depends on what it did
    before. At the ends of the history nothing is said.
    """
    global tried
    if not is_at_end():  # from there it would exit
        quiet(forth)
    if is_at_end():
        return 1
    here = state()
    if "No more reverse" in quiet(back):
        return 1
    between = state()
    quiet(forth)
    after = state()
    tried += 1
    if after != here or between == here:
        print("DIFFERS after %s, %s:\n  %s\n  %s\n  %s" % (back, forth, here, between, after))
    return after == here and between != here


def by_lines():
    """Between hits of a breakpoint, and from line to line."""
    breakpoint = gdb.Breakpoint(PLACES[0], internal=True)
    good = come_again("reverse-continue", "continue")
    breakpoint.delete()
    return good and (LINES == "hits" or come_again("reverse-next", "next") and come_again("reverse-step", "step"))


tried = 0
good = moved = 0
for stop in range(STOPS):
    if is_at_end():
        quiet("monitor goto start")
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
    between = state()
    quiet("stepi")
    after = state()
    if between == before or after != before:
        print("DIFFERS:\n  %s\n  %s\n  %s" % (before, between, after))
    moved += between != before
    good += after == before and check("reverse-stepi 3", "stepi 3", before) and (not LINES or by_lines())
if LINES:
    print("LINES %d" % tried)
print("STOPS %d, came back %d, moved %d" % (STOPS, good, moved))
