# SPDX-License-Identifier: Apache-2.0
"""exchange.py REPRISE TRACE SOURCE LINE: a client looks at a run of three ranks, alone or live, forward and back."""
import sys

from client import Client

reprise, trace, source, line, way = sys.argv[1:]
line = int(line)
c = Client(reprise, "dap")
assert c.ask("initialize", adapterID="reprise", linesStartAt1=True)["supportsStepBack"]
assert "nothing was launched" in c.refused("configurationDone")
assert "no such rank" in c.refused("stackTrace", threadId=1)
c.ask("launch", trace=trace, at="start")
assert c.event("capabilities")["capabilities"]["supportsStepBack"] == (way == "alone")
c.event("initialized")
b = c.ask("setBreakpoints", source={"path": source}, breakpoints=[{"line": line, "condition": "round_ == 2"}, {"line": 99999}])["breakpoints"]
assert [x["verified"] for x in b] == [True, False] and b[0]["line"] == line, b
c.ask("setExceptionBreakpoints", filters=[])
c.ask("configurationDone")
assert c.event("stopped")["reason"] in ("entry", "breakpoint")
assert [t["name"] for t in c.ask("threads")["threads"]] == ["rank 0", "rank 1", "rank 2"]


def top(rank):
    return c.ask("stackTrace", threadId=rank + 1, startFrame=0, levels=20)["stackFrames"][0]


def value(rank, expression):
    return c.ask("evaluate", expression=expression, frameId=top(rank)["id"])["result"]


c.ask("continue", threadId=1)
stop = c.event("stopped")
assert stop["reason"] == "breakpoint" and stop["allThreadsStopped"], stop
for rank in range(3):
    frame = top(rank)
    assert frame["line"] == line and frame["name"] == "main" and frame["source"]["path"] == source, frame
    assert value(rank, "round_") == "2" and value(rank, "rank") == str(rank)

# Variables: those of the frame, and the parts of an array.
scope = c.ask("scopes", frameId=top(1)["id"])["scopes"][0]
names = [v["name"] for v in c.ask("variables", variablesReference=scope["variablesReference"])["variables"]]
assert names[:2] == ["argc", "argv"], names
u = c.ask("evaluate", expression="u", frameId=top(1)["id"])
parts = c.ask("variables", variablesReference=u["variablesReference"])["variables"]
assert len(parts) == 8 and parts[7]["value"] == value(1, "u[7]"), parts
assert "nosuch" in c.refused("evaluate", expression="nosuch", frameId=top(1)["id"])
assert "frame" in c.refused("scopes", frameId=1 << 40)
assert "no request" in c.refused("readNonsense")

# Steps are for one rank.
c.ask("stepIn", threadId=2)
c.event("stopped")
assert top(1)["name"] == "smooth" and top(0)["name"] == "main"
assert "no such variable" in c.refused("variables", variablesReference=u["variablesReference"])
c.ask("stepOut", threadId=2)
c.event("stopped")
assert top(1)["name"] == "main"
c.ask("next", threadId=1)
c.event("stopped")
assert top(0)["line"] != line

if way == "alone":
    before = value(0, "u[7]")
    c.ask("stepBack", threadId=1)
    c.event("stopped")
    assert top(0)["line"] == line and value(0, "u[7]") != before
    c.ask("next", threadId=1)
    c.event("stopped")
    assert value(0, "u[7]") == before
    c.ask("setBreakpoints", source={"path": source}, breakpoints=[{"line": line}])
    for wanted in ("2", "1", "0"):
        c.ask("reverseContinue", threadId=1, singleThread=True)
        assert c.event("stopped")["reason"] == "breakpoint"
        assert value(0, "round_") == wanted, value(0, "round_")
        assert value(2, "round_") == "2"
else:
    assert "reprise checkpoint" in c.refused("stepBack", threadId=1)

c.ask("setBreakpoints", source={"path": source}, breakpoints=[])
c.ask("continue", threadId=1)
assert "recorded end" in c.event("stopped")["text"]
c.ask("disconnect")
c.event("terminated")
for rank in range(3):
    assert "rank %d: " % rank in c.printed(), c.printed()
sys.exit(c.end())
