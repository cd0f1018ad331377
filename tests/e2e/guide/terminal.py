# SPDX-License-Identifier: Apache-2.0
"""terminal.py LINES COMMAND...: the command at a terminal. Each line of the file LINES is typed when a debugger asks for
one, and then the end of input. Prints what the terminal has shown; the exit status is that of the command."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

PROMPT = re.compile(rb"(^|\n)\((gdb|reprise [^)]*)\) $")
SECONDS = 120

with open(sys.argv[1], encoding="utf-8") as file:
    lines = file.read().splitlines()
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp(sys.argv[2], sys.argv[2:])
# Nothing is wrapped, and nobody stops for a page.
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 0, 1000, 0, 0))

seen = b""
since = 0  # where the answer to the last line begins
end = time.time() + SECONDS
while True:
    if time.time() > end:
        sys.exit("waited in vain for a prompt, and saw %r" % seen[-400:])
    if not select.select([fd], [], [], 0.2)[0]:
        continue
    try:
        more = os.read(fd, 4096)
    except OSError:
        break
    if not more:
        break
    seen += more.replace(b"\r\n", b"\n")
    if PROMPT.search(seen[since:]):
        since = len(seen)
        os.write(fd, lines.pop(0).encode() + b"\n" if lines else b"\x04")
        end = time.time() + SECONDS
    elif seen[since:].endswith(b"(y or n) "):
        since = len(seen)
        os.write(fd, b"y\n")
shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode(errors="replace"))
for line in shown.split("\n"):
    print(line.rstrip("\r").rpartition("\r")[2])
if lines:
    sys.exit("nobody asked for '%s'" % lines[0])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
