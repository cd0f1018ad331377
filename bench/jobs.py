# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of MPI programs share: to find the tools of a flavour and to run a job, again
if something else kept the machine busy beside it."""

import os
import resource
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BUILD = os.path.join(ROOT, "build")
REPRISE = os.path.join(BUILD, "reprise")
FLAVOURS = ("openmpi", "mpich")

# A run is made again, twice at most, if others took more than this part of one core.
DISTURBED = 0.25


class TooLong(Exception):
    pass


def fail(text):
    sys.exit("bench: " + text)


def flavours(chosen):
    """Those that reprise was built for, or the chosen one of them."""
    return [f for f in FLAVOURS if chosen in (None, f) and os.path.exists(REPRISE)
            and os.path.exists(os.path.join(BUILD, "libreprise-%s.so" % f))]


def tool(name, flavour):
    return shutil.which(name + "." + flavour) or shutil.which(name) or fail("no " + name)


def environment():
    env = dict(os.environ)
    env["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    env["OMPI_MCA_mpi_yield_when_idle"] = "1"
    if os.getuid() == 0:
        env["OMPI_ALLOW_RUN_AS_ROOT"] = env["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return env


def run(command, limit):
    """Standard output. timeout(1) ends the whole job, where a kill would leave the ranks behind."""
    job = subprocess.Popen(["timeout", "-k", "10", str(limit)] + command,
                           env=environment(), stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = job.communicate()
    except BaseException:
        job.terminate()
        job.wait()
        raise
    if job.returncode in (124, 137):
        raise TooLong(" ".join(command))
    if job.returncode != 0:
        fail("%s: status %d\n%s" % (" ".join(command), job.returncode, err))
    return out


def busy_seconds():
    """What all cores have done so far, and what was stolen from them."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_alone(command, limit, before=lambda: None):
    for _ in range(3):
        before()
        start, busy, own = time.monotonic(), busy_seconds(), own_seconds()
        output = run(command, limit)
        others = (busy_seconds() - busy) - (own_seconds() - own)
        if others < DISTURBED * (time.monotonic() - start):
            break
    return output


def print_table(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for cells in rows:
        print("  ".join(c.ljust(w) for c, w in zip(cells, widths)).rstrip())
