# SPDX-License-Identifier: Apache-2.0
"""What a start in the middle costs and gains: images and logs of a recorded run, and how long it takes until all ranks
stand at a random point, by images and by a replay from the start."""

import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
from jobs import REPRISE, environment, fail, run

THERE = "ctrl-C ends it"
HEAD = ["program", "ranks", "run s", "T s", "images", "full", "increment", "stopped ms", "--log", "messages", "log",
        "of payload", "checkpoint s", "replay s", "wait s", "of a wait: T", "verdict"]


def size_text(number):
    for unit in ("B", "kB", "MB"):
        if number < 10000:
            break
        number /= 1000
    return "%.0f %s" % (number, unit)


def seconds_to(options, trace, limit):
    """Until everybody stands at the point."""
    began = time.monotonic()
    job = subprocess.Popen(["timeout", "-k", "10", str(limit), REPRISE, "replay", *options, trace],
                           env=environment(), stdin=subprocess.PIPE, text=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = []
    for line in job.stderr:
        said.append(line)
        if THERE in line:
            break
    else:
        fail("replay %s did not stop: %s" % (" ".join(options), "".join(said)))
    took = time.monotonic() - began
    job.send_signal(signal.SIGINT)
    job.stderr.read()
    job.wait()
    return took


class Waits:
    """Of one trace that has been evaluated, and one kind of log."""

    def __init__(self, trace, kind, every, count, limit):
        self.every, self.kind = every, kind
        began = time.monotonic()
        run([REPRISE, "replay", trace], limit)
        self.replay = time.monotonic() - began
        began = time.monotonic()
        said = run([REPRISE, "checkpoint", "--again", "--log", kind, "--every", "%.6f" % every, trace], limit)
        logged = re.search(r"with (\d+) of (\d+) messages", said)
        self.logged = 100 * int(logged[1]) / max(1, int(logged[2])) if logged else 100
        self.checkpoint = time.monotonic() - began
        ranks = json.loads(run([REPRISE, "lines", "--format=json", trace], limit))
        self.log = sum(r["log_bytes"] for r in ranks)
        self.full = [r["images"][0]["bytes"] for r in ranks]
        later = [i for r in ranks for i in r["images"][1:]]
        self.later = [i["bytes"] for i in later]
        self.stopped = [i["stopped"] for i in later] or [0]
        self.images = len(self.full) + len(later)
        info = json.loads(run([REPRISE, "info", "--by-rank", "--format=json", trace], limit))
        self.events = [r["events"] for r in info["ranks"]]
        random.seed(1)
        self.waits = sorted(self.wait(trace, limit) for _ in range(count))

    def wait(self, trace, limit):
        rank = random.randrange(len(self.events))
        at = "%d@%d" % (rank, random.randint(2, self.events[rank]))
        return seconds_to(["--from", at, "--stop"], trace, limit)

    def cells(self, name, ranks, length, payload):
        least, most = self.waits[0], self.waits[-1]
        good = "<= T" if most <= self.every + least else "<= 2T" if most <= 2 * self.every + least else "MISS"
        return [name, str(ranks), "%.2f" % length, "%.3f" % self.every, str(self.images),
                size_text(statistics.median(self.full)),
                size_text(statistics.median(self.later)) if self.later else "-",
                "%.1f, at most %.1f" % (1e3 * statistics.median(self.stopped), 1e3 * max(self.stopped)),
                self.kind, "%.2f %%" % self.logged, size_text(self.log), "%.2f" % (self.log / max(1, payload)), "%.2f" % self.checkpoint,
                "%.2f" % self.replay,
                "%.2f, %.2f, at most %.2f" % (least, statistics.median(self.waits), most),
                "%.2f" % ((most - least) / self.every), good]
