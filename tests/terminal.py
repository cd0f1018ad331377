#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py LINES COMMAND...: runs the command on a terminal of its own, on which the lines of a
file have been typed, then the key that ends the input. A read gets one line of it. Standard output
and error are ours. Ends with the status of the command."""
import fcntl
import os
import pty
import struct
import sys
import termios

out, err = os.dup(1), os.dup(2)
pid, terminal = pty.fork()
if pid == 0:
    os.read(0, 100)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 101, 0, 0))
with open(sys.argv[1], "rb") as f:
    os.write(terminal, b"go\n")
    os.write(terminal, f.read() + b"\x04")
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
