# SPDX-License-Identifier: Apache-2.0
"""Changes a start.json and makes its check right again: forge.py FILE"""
import json, sys

M = (1 << 64) - 1
A, B, C, D, E = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                 0x27D4EB2F165667C5)


def turned(x, n):
    return (x << n | x >> (64 - n)) & M


def step(acc, lane):
    return turned((acc + lane * B) & M, 31) * A & M


def xxh64(data):
    def word(at, n):
        return int.from_bytes(data[at:at + n], "little")

    n, at = len(data), 0
    if n >= 32:
        v = [(A + B) & M, B, 0, -A & M]
        while at + 32 <= n:
            v = [step(v[i], word(at + 8 * i, 8)) for i in range(4)]
            at += 32
        h = sum(turned(x, k) for x, k in zip(v, (1, 7, 12, 18))) & M
        for x in v:
            h = ((h ^ step(0, x)) * A + D) & M
    else:
        h = E
    h = (h + n) & M
    while at + 8 <= n:
        h = (turned(h ^ step(0, word(at, 8)), 27) * A + D) & M
        at += 8
    if at + 4 <= n:
        h = (turned(h ^ word(at, 4) * A & M, 23) * B + C) & M
        at += 4
    while at < n:
        h = turned(h ^ data[at] * E & M, 11) * A & M
        at += 1
    h = (h ^ h >> 33) * B & M
    h = (h ^ h >> 29) * C & M
    return h ^ h >> 32


def check_of(data):
    text = json.dumps(data, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return "%016x" % xxh64(text.encode())


with open(sys.argv[1]) as f:
    data = json.load(f)
check = data.pop("check")
assert check == check_of(data), "this is not how checks are made"
data["env"].append("EVIL=1")
data["check"] = check_of(data)
with open(sys.argv[1], "w") as f:
    json.dump(data, f)
