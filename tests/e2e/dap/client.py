# SPDX-License-Identifier: Apache-2.0
"""A client of the Debug Adapter Protocol: what a test needs of one, on the pipes of the adapter."""
import json
import os
import select
import subprocess
import sys
import time


class Client:
    def __init__(self, *argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seq = 0
        self.bytes = b""
        self.events = []
        self.answers = {}

    def send(self, command, **arguments):
        self.seq += 1
        text = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.process.stdin.flush()
        return self.seq

    def take(self, seconds=100):
        end = time.time() + seconds
        while True:
            head, found, rest = self.bytes.partition(b"\r\n\r\n")
            if found:
                length = int(head.split(b":")[1])
                if len(rest) >= length:
                    self.bytes = rest[length:]
                    message = json.loads(rest[:length])
                    break
            if not select.select([self.process.stdout], [], [], max(0, end - time.time()))[0]:
                sys.exit("no message came")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                sys.exit("the adapter has ended")
            self.bytes += more
        if message["type"] == "event":
            self.events.append(message)
        else:
            self.answers[message["request_seq"]] = message

    def answer(self, seq):
        while seq not in self.answers:
            self.take()
        return self.answers.pop(seq)

    def ask(self, command, **arguments):
        answer = self.answer(self.send(command, **arguments))
        if not answer["success"]:
            sys.exit("%s was refused: %s" % (command, answer))
        return answer.get("body", {})

    def refused(self, command, **arguments):
        answer = self.answer(self.send(command, **arguments))
        if answer["success"]:
            sys.exit("%s was not refused" % command)
        return answer["message"]

    def event(self, name):
        """The next event of that name; others before it are kept in mind."""
        at = 0
        while True:
            while at < len(self.events):
                if self.events[at]["event"] == name:
                    return self.events.pop(at).get("body", {})
                at += 1
            self.take()

    def printed(self):
        return "".join(e["body"]["output"] for e in self.events if e["event"] == "output")

    def end(self):
        self.process.stdin.close()
        return self.process.wait()
