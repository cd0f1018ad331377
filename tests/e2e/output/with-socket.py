# SPDX-License-Identifier: Apache-2.0
"""with-socket.py COMMAND...: runs it with a socket as its standard output; with its exit status."""
import socket
import subprocess
import sys

ends = socket.socketpair()
sys.exit(subprocess.run(sys.argv[1:], stdout=ends[1]).returncode)
