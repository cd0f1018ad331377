#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""memcached-client.py SOCKET CONNECTIONS ROUNDS: stores, fetches and counts on several connections at
a time; what comes back must be what was stored."""
import socket
import sys
import threading

path, connections, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
wrong = []


def converse(number):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(path)
        with sock.makefile("rwb") as file:

            def ask(text, last):
                file.write(text)
                file.flush()
                lines = [file.readline()]
                while lines[-1] and not lines[-1].startswith(last):
                    lines.append(file.readline())
                return lines

            for i in range(rounds):
                key = b"key-%d-%d" % (number, i % 7)
                value = b"value-%d-%d" % (number, i)
                ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"STORED")
                if ask(b"get %s\r\n" % key, b"END")[1:2] != [value + b"\r\n"]:
                    wrong.append(key)
                ask(b"add all 0 0 1\r\n1\r\n" if i == 0 else b"incr all 1\r\n", b"")


threads = [threading.Thread(target=converse, args=(n,)) for n in range(connections)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if wrong:
    sys.exit(f"wrong answers for {wrong[:3]}")
