#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the events of an evaluated run against the rules of MPI, on its own.

events-check.py < `reprise dump --events --format=json`

Every communicator is known by the same name to all its members; every message received was sent,
with the same tag and as many bytes, and they do not overtake each other; every completion has a
begin; choices are followed by as many completions as they say; collective operations are called in
the same order by all members. Prints counts; the first contradiction ends it with status 1.
"""
import collections
import json
import sys

ANY, NONE = -1, -2
POLL, INSIDE, FAILED = 2, 4, 8


def fail(text, *events):
    print("events-check:", text)
    for event in events:
        print("  ", json.dumps(event))
    sys.exit(1)


def read():
    ranks = collections.defaultdict(list)
    for line in sys.stdin:
        event = json.loads(line)
        ranks[event["rank"]].append(event)
    for events in ranks.values():
        events.sort(key=lambda e: e["seq"])
        for before, after in zip(events, events[1:]):
            if before["seq"] == after["seq"]:
                fail("two events of one seq", before, after)
    return ranks


class Checker:
    def __init__(self, ranks):
        self.ranks = ranks
        self.channels = collections.defaultdict(list)  # (name, from, to): sends not received
        self.members = collections.defaultdict(list)
        self.collectives = collections.defaultdict(lambda: collections.defaultdict(list))
        self.sizes = {}
        self.count = collections.Counter()

    def names(self):
        for rank, events in self.ranks.items():
            comms = {}
            for e in events:
                self.count[e["kind"]] += 1
                if e["kind"] == "comm":
                    comms[e["comm"]] = e["name"]
                    side = e["want_tag"] if e["want_peer"] else 0
                    self.members[e["name"]].append((side, e["peer"], rank))
                    size = e["bytes"] + e["want_peer"]
                    if self.sizes.setdefault(e["name"], size) != size:
                        fail("a communicator of two sizes", e)
                elif e["comm"]:
                    if e["comm"] not in comms:
                        fail("a communicator without a name", e)
                    e["name"] = comms[e["comm"]]

    def members_agree(self, whole):
        for name, members in self.members.items():
            if len(set(members)) != len(members):
                fail(f"communicator {name} has a member twice: {members}")
            if whole and len(members) != self.sizes[name]:
                fail(f"communicator {name} of {self.sizes[name]} has {len(members)} members")

    def send(self, rank, e):
        if e["peer"] != NONE and not e["flags"] & FAILED:
            self.channels[e["name"], rank, e["peer"]].append(e)

    def take(self, rank, wanted, peer, outcome):
        """The first message from there that fits; outcome is the event that tells what it was."""
        channel = self.channels[wanted["name"], peer, rank]
        for i, sent in enumerate(channel):
            if wanted["want_tag"] in (ANY, sent["tag"]):
                break
        else:
            if outcome:
                fail("received, but never sent", wanted, outcome)
            return
        del channel[i]
        if not outcome:
            return
        if wanted["want_peer"] not in (ANY, peer):
            fail("from another rank than wanted", wanted, outcome)
        if wanted["call"].startswith("MPI_Isendrecv"):
            return
        if outcome["tag"] != sent["tag"] or (outcome["bytes"] != sent["bytes"]
                                             and not outcome["flags"] & FAILED):
            fail("another message than was sent", sent, wanted, outcome)

    def begins_and_ends(self, rank, events):
        """Receives in the order in which they were posted: (wanted, peer, outcome)."""
        open_ids, receives, due, choice = {}, [], 0, None
        for e in events:
            kind, outcome = e["kind"], e["peer"] != NONE
            if kind == "done" and due and e["event"] == choice["event"]:
                due -= 1
            elif due and kind != "done" and e["thread"] == choice["thread"]:
                fail("a choice without its completions", choice, e)
            if kind == "choice":
                choice, due = e, e["id"]
                if e["bytes"] < e["id"]:
                    fail("more chosen than active", e)
            elif kind == "send":
                self.send(rank, e)
                if e["id"]:
                    open_ids[e["id"]] = None
            elif kind in ("recv", "mprobe"):
                if outcome:
                    receives.append([e, e["peer"], e])
                if e["id"]:
                    open_ids[e["id"]] = None
            elif kind == "post":
                open_ids[e["id"]] = [e, None, None]
                receives.append(open_ids[e["id"]])
            elif kind == "icoll":
                open_ids[e["id"]] = None
            elif kind in ("done", "cancel"):
                if e["flags"] & INSIDE:
                    continue
                if e["id"] not in open_ids:
                    fail("an end without a begin", e)
                receive = open_ids.pop(e["id"])
                if receive and outcome:
                    receive[1:] = [e["peer"], e if kind == "done" else None]
            if kind in ("coll", "icoll"):
                self.collectives[e["name"]][rank].append(e)
        return receives

    def messages(self):
        receives = {r: self.begins_and_ends(r, events) for r, events in self.ranks.items()}
        for rank, list_of in receives.items():
            for wanted, peer, outcome in list_of:
                if peer is not None:
                    self.take(rank, wanted, peer, outcome)

    def collectives_agree(self):
        for name, by_rank in self.collectives.items():
            for calls in zip(*by_rank.values()):
                if len({c["call"] for c in calls}) != 1:
                    fail(f"collective operations differ on {name}", *calls)
                roots = {c["peer"] for c in calls if c["peer"] != NONE}
                if len(roots) > 1:
                    fail(f"roots differ on {name}", *calls)


def main():
    checker = Checker(read())
    checker.names()
    checker.members_agree("--cut" not in sys.argv)
    checker.messages()
    checker.collectives_agree()
    left = sum(len(c) for c in checker.channels.values())
    print(" ".join(f"{k}={n}" for k, n in sorted(checker.count.items())), f"unreceived={left}")


main()
