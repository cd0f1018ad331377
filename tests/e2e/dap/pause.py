# SPDX-License-Identifier: Apache-2.0
"""pause.py REPRISE TRACE PROGRAM: one of two ranks computes for ever; a client lets both go on, and stops them."""
import os
import sys
import time

from client import Client

reprise, trace, program = sys.argv[1:]


def is_at_work(pid):
    """A rank of this program that its debugger lets run."""
    try:
        if os.readlink("/proc/%s/exe" % pid) != program:
            return False
        with open("/proc/%s/status" % pid, encoding="utf-8") as file:
            status = file.read()
        return "State:\tR" in status and "TracerPid:\t0" not in status
    except OSError:
        return False


def any_is_at_work():
    return any(is_at_work(p) for p in os.listdir("/proc") if p.isdigit())


c = Client(reprise, "dap")
c.ask("initialize", adapterID="reprise")
c.ask("launch", trace=trace, at="start")
c.event("initialized")
c.ask("configurationDone")
c.event("stopped")
frame = {}
end = time.time() + 90
# It is stopped wherever it is, and goes on, until it has come to where it computes.
while frame.get("name") != "computes":
    c.ask("continue", threadId=1)
    while not any_is_at_work():
        if time.time() > end:
            sys.exit("no rank comes to where it computes")
        time.sleep(0.05)
    seq = c.send("pause", threadId=2)
    stop = c.event("stopped")
    assert stop["reason"] == "pause" and stop["allThreadsStopped"], stop
    assert c.answer(seq)["success"]
    assert not any_is_at_work()
    frame = c.ask("stackTrace", threadId=2, startFrame=0, levels=20)["stackFrames"][0]
assert c.ask("evaluate", expression="rank", frameId=frame["id"])["result"] == "1"
c.ask("disconnect")
c.event("terminated")
sys.exit(c.end())
