# SPDX-License-Identifier: Apache-2.0
"""libraries.py REPRISE TRACE READS: interrupts reprise debug while its gdb reads a library, for which there is the file READS."""
import os
import sys
import time

from dialogue import Dialogue

PROMPT = b"(reprise 0 @ "
reprise, trace, reads = sys.argv[1:]
d = Dialogue([reprise, "debug", "--at", "start", trace])
d.until(PROMPT)
d.tell(b"goto 0@3\n")
end = time.time() + 30
while not os.path.exists(reads):
    if time.time() > end:
        sys.exit("it reads nothing of ours")
    time.sleep(0.05)
d.tell(b"\x03")
d.until(PROMPT)
d.tell(b"print 40 + 2\n")
d.until(b"[0] 42")
d.until(PROMPT)
d.tell(b"quit\n")
sys.exit(d.status())
