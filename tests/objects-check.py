#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""objects-check.py SOURCE JSON: are the numbers of `reprise stats` those of tests/prog/sync-objects?

Lines are found by the comments "line: name" in the source."""
import json
import re
import sys

lines = {}
for number, text in enumerate(open(sys.argv[1]), 1):
    mark = re.search(r"line: ([a-z_ ]+) \*/", text)
    if mark:
        lines[mark.group(1)] = number
stats = json.load(open(sys.argv[2]))
bad = []


def expect(what, is_, should):
    if is_ != should:
        bad.append(f"{what}: {is_}, not {should}")


def at(name):
    return f"sync-objects.c:{lines[name]} "


def of(kind, name=None, made=None):
    found = [o for o in stats["objects"] if o["kind"] == kind and (not name or o.get("name") == name)
             and (not made or o.get("made_at", "").startswith(at(made)))]
    expect(f"objects {kind} {name or ''} {made or ''}", len(found), 1)
    return found[0] if found else {"uses": []}


def uses(o):
    return {(u["operation"], re.sub(r" .*", " ", u["place"])): u["operations"] for u in o["uses"]}


def numbers(what, o, **should):
    for key, value in should.items():
        expect(f"{what} {key}", o.get(key), value)


numbers("counter", of("mutex", "counter"), operations=300, threads=3, failed=0)
expect("counter's places", uses(of("mutex", "counter")), {("pthread_mutex_lock", at("lock")): 300})
heap = of("mutex", made="heap made")
numbers("heap", heap, operations=150, threads=3)
own = of("mutex", "own")
numbers("own", own, operations=1000, threads=1, handed_over=0, bytes=0, predicted=1000, failed=0)
expect("own made", own["made_at"].startswith(at("own made")), True)
expect("own's places", uses(own), {("pthread_mutex_trylock", at("trylock")): 1000})
numbers("turns", of("mutex", "turns"), operations=10, threads=2, handed_over=9)
rwlock = of("read-write lock", "shared", "rwlock made")
numbers("rwlock", rwlock, operations=75, threads=3)
expect("rwlock's places", uses(rwlock), {("pthread_rwlock_rdlock", at("rdlock")): 60,
                                         ("pthread_rwlock_wrlock", at("wrlock")): 15})
numbers("spin", of("spin lock", "spin"), operations=120, threads=3)
sem = of("semaphore", "jobs", "sem made")
numbers("semaphore", sem, operations=60, threads=4)
expect("semaphore's places", uses(sem), {("sem_post", at("sem_post")): 30,
                                         ("sem_wait", at("sem_wait")): 30})
numbers("barrier", of("barrier", "barrier", "barrier made"), operations=30, threads=3)
numbers("once", of("once", "once"), operations=3, threads=3)
numbers("threads", of("threads"), operations=6, threads=1)
numbers("stdout", of("stream", "standard output"), operations=2, threads=1)

expect("names", [t.get("name") for t in stats["threads"]], [None] + [f"worker-{i}" for i in range(3)])
expect("threads", [t["thread"] for t in stats["threads"]], ["0", "0.1", "0.2", "0.3"])
for which in ("objects", "threads"):
    expect(f"operations of {which}", sum(o["operations"] for o in stats[which]),
           stats["sync_operations"])
used = sum(o["bytes"] for o in stats["objects"])
expect("bytes", 0 < used <= stats["sync_bytes"], True)
for o in stats["objects"]:
    expect(f"uses of {o['id']}", sum(u["operations"] for u in o["uses"]), o["operations"])
print("\n".join(bad))
sys.exit(bool(bad))
