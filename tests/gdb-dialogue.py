# SPDX-License-Identifier: Apache-2.0
"""gdb-dialogue.py REPRISE TRACE [OPTION...]: reprise gdb at a terminal, on rank 1, which computes for ever. Stops it with
ctrl-C, alone also on its way back, and goes on to speak with gdb. With HANG_UP the terminal is closed while it runs."""
import os
import sys
import time

from dialogue import Dialogue

reprise, trace, *options = sys.argv[1:]
d = Dialogue([reprise, "gdb", "1", *options, trace])
d.tell(b"set pagination off\nset confirm off\nprint 6 * 11\n")
d.until(b"= 66")
d.tell(b"continue\n")
d.until(b"Continuing.")
if "HANG_UP" in os.environ:
    os.close(d.terminal)
    sys.exit()
# Whether it computes already does not matter.
d.tell(b"\x03")
d.until(b"SIGINT", 10)
d.tell(b"print 7 * 11\n")
d.until(b"= 77")
if not options:
    # The way back is long: what is looked for was never there.
    d.tell(b"monitor goto start\ntbreak hangs.c:%s\ncontinue\n" % os.environ["SPIN"].encode())
    d.until(b"Temporary breakpoint 1, ")
    d.tell(b"continue\n")
    d.until(b"Continuing.")
    time.sleep(1)  # it computes
    d.tell(b"\x03")
    d.until(b"SIGINT", 10)
    d.tell(b"break *$pc if $sp == 5\nreverse-continue\n")
    d.until(b"Continuing.")
    time.sleep(0.3)  # it searches
    d.tell(b"\x03")
    d.until(b"(gdb) ", 10)
    d.tell(b"print 8 * 11\n")
    d.until(b"= 88")
d.tell(b"quit\n")
sys.exit(d.status())
