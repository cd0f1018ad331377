# SPDX-License-Identifier: Apache-2.0
"""Several jobs that are to be compared, each alone on the machine in turn, for a slice of time.

A machine that is shared runs faster and slower by turns, by nearly half, for a tenth of a second or
for several; runs one after the other measure that. Jobs that take turns by the slice meet the same
times. Each stops itself where its main phase begins (bench_gate in bench.h); from there on all but
one are stopped. What counts is the time between the begin and the end that a program prints, less
the time that it was stopped."""

import os
import re
import select
import signal
import subprocess
import tempfile
import time

from jobs import TooLong, environment, fail

SLICE_SECONDS = 0.04
SLICE_OF_THREADS = 0.1  # where they sleep and wake each other, a stop disturbs for longer
READY_SECONDS = 60

# So long must a slice be that each rank has a turn within it, where several share a core.
SLICE_OF_SHARED_CORES = 0.01


def parents():
    """Of all processes: the parent and the state."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as stat:
                    words = stat.read().rpartition(")")[2].split()
                found[int(name)] = int(words[1]), words[0]
            except OSError:
                pass
    return found


def runs(pid, program):
    try:
        return os.readlink("/proc/%d/exe" % pid) == program
    except OSError:
        return False


def gate_of(program):
    """A replay has the environment of the recorded run, but may be one without turns: while there
    are any, this file is there."""
    return os.path.join(os.path.dirname(program), "gate")


class Job:
    """`ranks` processes of `program` are what takes turns."""

    def __init__(self, command, program, ranks, limit, pinned=False):
        self.command, self.program, self.ranks = " ".join(command), program, ranks
        self.pinned = pinned
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            ["timeout", "-k", "10", str(limit)] + command,
            env=environment(BENCH_GATE=gate_of(program)),
            stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)
        self.ended = os.pidfd_open(self.process.pid)
        self.pids, self.stops = [], []

    def wait_ready(self):
        """Until all its processes are at the gate."""
        give_up = time.monotonic() + READY_SECONDS
        while self.process.poll() is None and time.monotonic() < give_up:
            found = parents()
            mine = [pid for pid in found if found[pid][1] == "T" and self.is_above(pid, found)
                    and runs(pid, self.program)]
            if len(mine) == self.ranks:
                self.pids = mine
                if self.pinned:
                    self.pin()
                self.stops.append([time.monotonic(), None])
                return
            time.sleep(0.01)
        self.err.seek(0)
        fail("%s: its processes did not come to the gate\n%s" % (self.command, self.err.read()))

    def pin(self):
        """Each rank to a core."""
        cores = sorted(os.sched_getaffinity(0))
        for number, pid in enumerate(sorted(self.pids)):
            for thread in os.listdir("/proc/%d/task" % pid):
                os.sched_setaffinity(int(thread), {cores[number % len(cores)]})

    def is_above(self, pid, found):
        while pid in found and pid != self.process.pid:
            pid = found[pid][0]
        return pid == self.process.pid

    def signal(self, which):
        begin = time.monotonic()
        for pid in self.pids:
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass
        return (begin + time.monotonic()) / 2

    def slice(self, seconds):
        """Whether it goes on after that."""
        self.stops[-1][1] = self.signal(signal.SIGCONT)
        poll = select.poll()
        poll.register(self.ended, select.POLLIN)
        if poll.poll(seconds * 1000):
            return False
        self.stops.append([self.signal(signal.SIGSTOP), None])
        return True

    def finish(self):
        """Ends what is left of it."""
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.process.terminate()
        self.status = self.process.wait()
        os.close(self.ended)
        self.out.seek(0)
        self.err.seek(0)
        self.said, self.errors = self.out.read(), self.err.read()
        self.out.close()
        self.err.close()

    def check(self):
        if self.status in (124, 137):
            raise TooLong(self.command)
        if self.status != 0:
            fail("%s: status %d\n%s" % (self.command, self.status, self.errors))
        return self

    def seconds(self):
        """What of the time from the begin to the end that it printed was not spent in a stop."""
        found = re.search(r"^seconds \S+ from (\S+) to (\S+)", self.said, re.MULTILINE)
        if not found:
            fail("%s printed no result: %s" % (self.command, self.said))
        begin, end = float(found[1]), float(found[2])
        return end - begin - sum(max(0, min(stop[1], end) - max(stop[0], begin))
                                 for stop in self.stops)


def in_slices(commands, program, ranks, limit, seconds=SLICE_SECONDS, pinned=False):
    """The jobs, when all have ended. Begun one after the other, so that none starts beside a busy one.
    Where ranks share cores, the scheduler now and then leaves one core with less to do than another:
    pinned ranks stay on theirs."""
    waiting = []
    gate = gate_of(program)
    try:
        with open(gate, "w", encoding="ascii"):
            pass
        for command in commands:
            waiting.append(Job(command, program, ranks, limit, pinned))
            waiting[-1].wait_ready()
        os.unlink(gate)
        turns = list(waiting)
        while turns:
            turns = [job for job in turns if job.slice(seconds)]
    finally:
        for job in waiting:
            job.finish()
    return waiting
