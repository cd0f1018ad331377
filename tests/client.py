#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""client.py lines PORT CONNECTIONS REQUESTS: asks a server of lines; every answer must hold what was
asked. client.py memcached SOCKET CONNECTIONS REQUESTS: stores, fetches and counts; what comes back
must be what was stored. client.py files PORT CONNECTIONS REQUESTS: fetches files a, bb, ccc and dddd,
each of the size that it is said to have. client.py http PORT CONNECTIONS REQUESTS: gets and posts, each
request by a connection of its own or, every third client, by one for all. Several connections at a time."""
import http.client
import socket
import sys
import threading

kind, place, connections, requests = sys.argv[1:]
wrong = []


def lines(number):
    with socket.create_connection(("127.0.0.1", int(place)), timeout=60) as sock:
        for i in range(int(requests)):
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


def memcached(number):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(place)
        with sock.makefile("rwb") as file:

            def ask(text, last):
                file.write(text)
                file.flush()
                answer = [file.readline()]
                while answer[-1] and not answer[-1].startswith(last):
                    answer.append(file.readline())
                return answer

            for i in range(int(requests)):
                key = b"key-%d-%d" % (number, i % 7)
                value = b"value-%d-%d" % (number, i)
                ask(b"set %s 0 0 %d\r\n%s\r\n" % (key, len(value), value), b"STORED")
                if ask(b"get %s\r\n" % key, b"END")[1:2] != [value + b"\r\n"]:
                    wrong.append(key)
                ask(b"add all 0 0 1\r\n1\r\n" if i == 0 else b"incr all 1\r\n", b"")


def files(number):
    for i in range(int(requests)):
        name = ("a", "bb", "ccc", "dddd")[(number + i) % 4]
        with socket.create_connection(("127.0.0.1", int(place)), timeout=60) as sock:
            sock.sendall(name.encode() + b"\n")
            with sock.makefile("rb") as file:
                size = int(file.readline() or -1)
                if size != len(file.read()):
                    wrong.append((name, size))


def web(number):
    connection = http.client.HTTPConnection("127.0.0.1", int(place), timeout=60)
    for i in range(int(requests)):
        path = f"/{number}/{i}"
        if i % 2:
            connection.request("POST", path, body=b"x" * (i % 50))
        else:
            connection.request("GET", path)
        answer = connection.getresponse()
        if answer.status != 200 or path.encode() not in answer.read():
            wrong.append((path, answer.status))
        if number % 3:
            connection.close()
    connection.close()


converse = {"lines": lines, "memcached": memcached, "files": files, "http": web}[kind]
threads = [threading.Thread(target=converse, args=(n,)) for n in range(int(connections))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if wrong:
    sys.exit(f"wrong answers: {wrong[:3]}")
