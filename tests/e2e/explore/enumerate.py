#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explores a trace of the program `orders`, then every new order it leads to, until there is none.

enumerate.py REPRISE WHICH TRACE: fails unless the orders are all that the program has, and unless in
each of them the alternatives of each receive are exactly those that another order begins with.
"""
import itertools
import json
import os
import subprocess
import sys

REPRISE, WHICH, TRACE = sys.argv[1:]

ORDERS = {
    "one": set(itertools.permutations((1, 2, 3))),
    "posted": set(itertools.permutations((1, 2, 3))),
    "two": set(itertools.permutations((1, 1, 2, 2))),
    "chain": {o for o in itertools.permutations((1, 2, 3)) if o[0] != 3},
    "tags": {(a, 3 - a, b, 3 - b) for a in (1, 2) for b in (1, 2)},
}[WHICH]


def order_in(trace):
    with open(f"{trace}/output/rank-0000.out", encoding="ascii") as out:
        return tuple(int(w) for w in out.read().split()[1:])


def explore(trace):
    done = subprocess.run([REPRISE, "explore", "--exhaustive", "--format=json", trace], check=False,
                          stdout=subprocess.PIPE)
    if done.returncode not in (0, 1):
        sys.exit(f"FAILED: explore {trace} ends with {done.returncode}")
    return json.loads(done.stdout)["alternatives"]


def expected(order):
    """Which other source each receive could have got, given what came before it."""
    return {(k, o[k]) for k in range(len(order)) for o in ORDERS
            if o[:k] == order[:k] and o[k] != order[k]}


def place_of(alternative, events):
    return alternative["post"] if "post" in alternative else events.index(alternative["event"])


def events_of(trace):
    """The events of rank 0 that receive from any source, in order."""
    dump = subprocess.run([REPRISE, "dump", "--rank", "0", trace], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return [int(line.split("\t")[0].split("@")[1]) for line in dump.splitlines()
            if "received from" in line]


def main():
    with open(os.environ["RECORDED"], encoding="ascii") as out:
        first = tuple(int(w) for w in out.read().split()[1:])
    seen = {first}
    work = [(TRACE, first)]
    runs = 0
    while work:
        trace, order = work.pop()
        events = events_of(trace)
        found = set()
        for alternative in explore(trace):
            runs += 1
            if "trace" not in alternative:
                sys.exit(f"FAILED: {order}: not tried: {alternative}")
            k, other = place_of(alternative, events), alternative["forced"]
            found.add((k, other))
            new = order_in(alternative["trace"])
            if new[:k + 1] != order[:k] + (other,):
                sys.exit(f"FAILED: {order}, receive {k} from {other}: it became {new}")
            if new not in seen:
                seen.add(new)
                work.append((alternative["trace"], new))
        if found != expected(order):
            sys.exit(f"FAILED: {order}: races {sorted(found)}, but there are "
                     f"{sorted(expected(order))}")
    if seen != ORDERS:
        sys.exit(f"FAILED: orders {sorted(seen)}, but there are {sorted(ORDERS)}")
    print(f"{WHICH}: {len(seen)} orders in {runs} runs")


main()
