#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""client.py PORT CONNECTIONS REQUESTS: asks a server of lines, several connections at a time; every
answer must hold what was asked."""
import socket
import sys
import threading

port, connections, requests = (int(word) for word in sys.argv[1:])
wrong = []


def ask(number):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        for i in range(requests):
            line = f"c{number} r{i}"
            sock.sendall(line.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                part = sock.recv(1000)
                if not part:
                    break
                answer += part
            if not answer.endswith(line.encode() + b"\n"):
                wrong.append((line, answer))


threads = [threading.Thread(target=ask, args=(n,)) for n in range(connections)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if wrong:
    sys.exit(f"wrong answers: {wrong[:3]}")
