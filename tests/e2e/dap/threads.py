# SPDX-License-Identifier: Apache-2.0
"""threads.py REPRISE TRACE SOURCE LINE FUNCTION RANKS COUNTER: a client looks at ranks that have threads, forward and back."""
import sys

from client import Client

reprise, trace, source, line, function, ranks, counter = sys.argv[1:]
line, ranks = int(line), int(ranks)
c = Client(reprise, "dap")
c.ask("initialize", adapterID="reprise", linesStartAt1=True)
c.ask("launch", trace=trace, at="start")
assert c.event("capabilities")["capabilities"]["supportsStepBack"]
c.event("initialized")
b = c.ask("setBreakpoints", source={"path": source}, breakpoints=[{"line": line}])["breakpoints"]
assert b[0]["verified"], b
c.ask("configurationDone")
c.event("stopped")
names = {t["id"]: t["name"] for t in c.ask("threads")["threads"]}
assert names == {r + 1: "rank %d" % r for r in range(ranks)}, names


def frames(thread):
    return c.ask("stackTrace", threadId=thread, startFrame=0, levels=20)["stackFrames"]


def value(thread, expression):
    return c.ask("evaluate", expression=expression, frameId=frames(thread)[0]["id"])["result"]


def move(command, thread):
    c.ask(command, threadId=thread)
    return c.event("stopped")


# A breakpoint in a thread: the stop is its, and it is in the list.
there = []
for _ in range(4):
    stop = move("continue", 1)
    assert stop["reason"] == "breakpoint" and stop["threadId"] > ranks, stop
    names = {t["id"]: t["name"] for t in c.ask("threads")["threads"]}
    assert names[stop["threadId"]].startswith("rank 0, thread 0."), names
    top = frames(stop["threadId"])[0]
    assert top["line"] == line and top["name"] == function, top
    there.append((names[stop["threadId"]], value(stop["threadId"], counter)))
assert len({v for _, v in there}) == 4, there

# Other threads have stacks and variables of their own.
one = stop["threadId"]
main = [f for f in frames(1) if f["name"] == "main"]
assert len(main) == 1, frames(1)
scope = c.ask("scopes", frameId=main[0]["id"])["scopes"][0]
in_main = [v["name"] for v in c.ask("variables", variablesReference=scope["variablesReference"])["variables"]]
assert "argc" in in_main, in_main
frame = frames(one)[0]
scope = c.ask("scopes", frameId=frame["id"])["scopes"][0]
in_thread = [v["name"] for v in c.ask("variables", variablesReference=scope["variablesReference"])["variables"]]
assert in_thread and "argc" not in in_thread, in_thread
assert value(one, counter) == there[-1][1]
assert "no such rank" in c.refused("stackTrace", threadId=77)

# A step of the thread, and back. gdb comes to the beginning of the line.
move("next", one)
assert frames(one)[0]["line"] != line and c.ask("threads")
stop = move("stepBack", one)
assert stop["threadId"] == one and frames(one)[0]["line"] == line, stop
assert value(one, counter) == there[-1][1]

# All the way back: the same stops, in the other order.
for name, was in reversed(there[:-1]):
    stop = move("reverseContinue", 1)
    names = {t["id"]: t["name"] for t in c.ask("threads")["threads"]}
    assert stop["reason"] == "breakpoint" and names[stop["threadId"]] == name, (stop, names, name)
    assert value(stop["threadId"], counter) == was
c.ask("setBreakpoints", source={"path": source}, breakpoints=[])
stop = move("reverseContinue", 1)
assert "nothing before" in stop["text"], stop
stop = move("continue", 1)
assert "recorded end" in stop["text"], stop
c.ask("disconnect")
c.event("terminated")
sys.exit(c.end())
