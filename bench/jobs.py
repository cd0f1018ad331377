# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks of MPI programs share: to find the tools of a flavour and to run a job."""

import os
import resource
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BUILD = os.path.join(ROOT, "build")
REPRISE = os.path.join(BUILD, "reprise")
FLAVOURS = ("openmpi", "mpich")

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


def environment(**more):
    env = dict(os.environ, **more)
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


def own_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_table(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for cells in rows:
        print("  ".join(c.ljust(w) for c, w in zip(cells, widths)).rstrip())
