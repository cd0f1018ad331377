# SPDX-License-Identifier: Apache-2.0
"""debug-dialogue.py REPRISE TRACE PROGRAM: reprise debug on two ranks at a terminal. Completes a word, stops a rank that
computes for ever with ctrl-C, goes into the console of one gdb and back, and quits."""
import os
import sys
import time

from dialogue import Dialogue

PROMPT = b"(reprise 0-1 @ "


def is_at_work(pid, program):
    """A rank of this trace that gdb lets run."""
    try:
        if os.readlink(f"/proc/{pid}/exe") != program:
            return False
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            status = f.read()
        return "State:\tR" in status and "TracerPid:\t0" not in status
    except OSError:
        return False


def wait_for_work(program):
    end = time.time() + 40
    while not any(is_at_work(p, program) for p in os.listdir("/proc") if p.isdigit()):
        if time.time() > end:
            sys.exit("no rank runs on")
        time.sleep(0.05)


def main():
    reprise, trace, program = sys.argv[1:]
    d = Dialogue([reprise, "debug", trace])
    d.until(PROMPT)
    d.tell(b"wher\t\n")
    d.until(b"main()")
    d.until(PROMPT)
    # One of them computes for ever.
    d.tell(b"continue\n")
    wait_for_work(program)
    d.tell(b"\x03")
    d.until(b"interrupted")
    d.until(PROMPT)
    d.tell(b"1: print 70 + 0 * rank\n")
    d.until(b"[1] 70")
    d.tell(b"focus 1\n")
    d.until(b"(reprise 1 @ ")
    d.tell(b"gdb\n")
    d.until(b"(gdb 1) ")
    d.tell(b"info frame\n")
    d.until(b"Stack level")
    d.tell(b"quit\n")
    d.until(b"(reprise 1 @ ")
    d.tell(b"quit\n")
    return d.status()


sys.exit(main())
