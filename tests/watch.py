#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches the machine while tests run: watch.py RUNNER DIRECTORY [SECONDS], RUNNER being the process tests/run.

Once a second it writes DIRECTORY/load, "TOTAL OTHERS STOLEN" in clock ticks since it began: what the processors
could give, what processes that are no part of this tests/run took of it, and what the hypervisor took. Of others
only what is there at two looks counts: what is missed makes them less, never more. DIRECTORY/idle has the share of the
last second, in percent, in which processors had nothing to do.

A launcher whose ranks have all gone, and which stays for SECONDS (15), is noted in DIRECTORY/launcher.MARK, MARK being
the test's: "for N s nothing was left but: ...".
"""
import os
import sys
import time
from pathlib import Path

LAUNCHERS = ("mpirun", "mpiexec", "orterun", "hydra_pmi_proxy")
# What stands around a launcher in a test.
AROUND = LAUNCHERS + ("reprise", "bash", "sh", "timeout", "sleep", "env", "setsid", "cat", "tail", "grep", "tee")


def machine():
    """Total, idle and stolen ticks of all processors."""
    fields = [int(f) for f in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return sum(fields[:8]), fields[3] + fields[4], fields[7]


class Process:
    def __init__(self, pid, runner, known):
        stat = Path(f"/proc/{pid}/stat").read_text()
        self.name = stat[stat.index("(") + 1:stat.rindex(")")]
        fields = stat[stat.rindex(")") + 2:].split()
        self.zombie = fields[0] == "Z"
        self.ticks = int(fields[11]) + int(fields[12])
        self.parent, self.start = int(fields[1]), fields[19]
        before = known.get(pid)
        if before and before.start == self.start and before.name == self.name:
            self.mark, self.ours = before.mark, before.ours
            return
        self.mark = self.read_mark(pid, runner)
        self.ours = self.mark is not None or pid in (runner, os.getpid())

    @staticmethod
    def read_mark(pid, runner):
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return None
        for word in environ.split(b"\0"):
            if word.startswith(b"REPRISE_TEST=%d." % runner):
                return word.decode()[len("REPRISE_TEST="):]
        return None


def look(runner, known):
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                found[int(entry)] = Process(int(entry), runner, known)
            except (OSError, ValueError):
                pass
    # ./dev builds and checks beside the tests: that excuses nobody.
    above = found.get(found[runner].parent) if runner in found else None
    if above and above.name == "dev":
        above.ours = True
    # What one of ours started is ours, whatever its environment says.
    for process in sorted(found.values(), key=lambda p: int(p.start)):
        parent = found.get(process.parent)
        process.ours = process.ours or (parent is not None and parent.ours)
    return found


def foreign_ticks(before, now):
    return sum(p.ticks - before[pid].ticks for pid, p in now.items()
               if not p.ours and pid in before and before[pid].start == p.start)


def launcher_left(processes):
    """What is left of a test, if that is a launcher and what stands around it."""
    living = [p.name for p in processes if not p.zombie]
    is_launcher = any(name.startswith(LAUNCHERS) for name in living)
    return is_launcher and all(name.startswith(AROUND) for name in living) and " ".join(sorted(set(living)))


def put(path, text):
    """Whoever reads it finds the old text or the new one."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.rename(path)


class Alone:
    """How long launchers have been without ranks, by test."""

    def __init__(self, directory, seconds):
        self.directory, self.seconds, self.since = directory, seconds, {}

    def note(self, processes, now):
        by_mark = {}
        for process in processes.values():
            if process.mark:
                by_mark.setdefault(process.mark, []).append(process)
        left = {mark: names for mark in by_mark if (names := launcher_left(by_mark[mark]))}
        self.since = {mark: self.since.get(mark, now) for mark in left}
        for mark, names in left.items():
            seconds = now - self.since[mark]
            if seconds >= self.seconds:
                put(self.directory / f"launcher.{mark}", f"for {seconds:.0f} s nothing was left but: {names}\n")


def main():
    runner, directory = int(sys.argv[1]), Path(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 15
    first_total, _, first_stolen = machine()
    last_total, last_idle = 0, 0
    processes, others, alone = look(runner, {}), 0, Alone(directory, seconds)
    while os.getppid() == runner and directory.exists():
        total, idle, stolen = machine()
        if last_total:
            put(directory / "idle", f"{100 * (idle - last_idle) // max(total - last_total, 1)}\n")
        last_total, last_idle = total, idle
        now = look(runner, processes)
        others += foreign_ticks(processes, now)
        processes = now
        alone.note(now, time.monotonic())
        put(directory / "load", f"{total - first_total} {others} {stolen - first_stolen}\n")
        time.sleep(1)


if __name__ == "__main__":
    try:
        main()
    except (FileNotFoundError, KeyboardInterrupt):
        pass
