# SPDX-License-Identifier: Apache-2.0
"""Random programs that wait in a call of a library which looks like MPI's, and prints what it was called with: what 'reprise
hang --pid' reads of the arguments is that, or nothing.

usage: arguments.py REPRISE FIRST-SEED PROGRAMS, in an empty folder"""

import os
import random
import re
import subprocess
import sys

HEADER = """
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
extern volatile int inside, helped;
extern char ompi_mpi_comm_world[64], ompi_mpi_int[64];
int MPI_Recv(void *, int, void *, int, int, void *, void *);
int MPI_Ssend(const void *, int, void *, int, int, void *);
"""
LIBRARY = HEADER + r"""
#include <stdio.h>
volatile int inside, helped;
char ompi_mpi_comm_world[64], ompi_mpi_int[64];
static int wait(int peer, int tag)
{
	volatile int on = 1;

	for (inside = 1; helped && inside == 1;)
		;
	printf("%d %d\n", peer, tag);
	fflush(stdout);
	while (on)
		pause();
	return 0;
}
int MPI_Recv(void *to, int count, void *type, int peer, int tag, void *comm, void *status)
{
	(void)to, (void)count, (void)type, (void)comm, (void)status;
	return wait(peer, tag) + 1;
}
int MPI_Ssend(const void *from, int count, void *type, int peer, int tag, void *comm)
{
	(void)from, (void)count, (void)type, (void)comm;
	return wait(peer, tag) + 1;
}
"""
WAYS = [[], [], ["-fno-pie", "-no-pie"], ["-fPIC"], ["-fomit-frame-pointer"], ["-fcf-protection=full"]]


def expression(r, deep=0):
    name = r.choice("abcg")
    ways = [lambda: str(r.randrange(20)), lambda: str(r.randrange(20)), lambda: name,
            lambda: "(%s + %s)" % (expression(r, deep + 1), name),
            lambda: "((%s + %d) %% %d)" % (name, r.randrange(9), r.randrange(2, 9)),
            lambda: "t[%s & 7]" % name, lambda: "(%s - %s + 30)" % (name, r.choice("abcg")),
            lambda: "%s++" % name, lambda: "(%s * %d)" % (name, r.randrange(1, 5)), lambda: "h(%s)" % name,
            lambda: "(%s > %d ? %s : %s)" % (name, r.randrange(9), expression(r, deep + 1), expression(r, deep + 1))]
    return r.choice(ways if deep < 2 else ways[:3])()


def wrapper(r):
    """Ends in a call, which may leave no frame of it; its own arguments are in another order."""
    order = ["void *b", "int n", "void *type", "int to", "int tag", "void *comm"]
    r.shuffle(order)
    return order, "static __attribute__((noinline)) int put(%s) { return MPI_Ssend(b, n, type, to, tag, comm); }" % ", ".join(order)


def program(r):
    """Calls that compilers like to merge, and jumps around them."""
    order, put = wrapper(r)
    wraps = r.random() < .25

    def call():
        if wraps:
            given = {"b": "&value", "n": "1", "type": "ompi_mpi_int", "to": expression(r), "tag": expression(r),
                     "comm": "ompi_mpi_comm_world"}
            return "put(%s);" % ", ".join(given[re.search(r"\w+$", name).group()] for name in order)
        return "MPI_Recv(&value, 1, ompi_mpi_int, %s, %s, ompi_mpi_comm_world, &status);" % (expression(r), expression(r))

    n = r.randrange(1, 6)
    body = [
        lambda: "\n".join("if (w == %d) { %s %s }" % (i, r.choice(["", "a += 3;", "g = b;", "c = h(a);"]), call())
                          for i in range(n)),
        lambda: "switch (w) {%s}" % "\n".join("case %d: %s %s" % (i, call(), r.choice(["break;", ""])) for i in range(n)),
        lambda: "for (int i = 0; i < 9; i++) { a += t[i & 7] & 3; if (i == w) { %s } else b ^= i; }" % call(),
        lambda: "if (w) %s else { %s }\n%s" % (call(), call(), call()),
    ][r.randrange(4)]()
    if r.random() < .3:
        body = "if (g > 100) abort();\n" + body
    return n, HEADER + """
static int value, g = %d, t[8] = {3, 1, 4, 1, 5, 9, 2, 6};
static long status[4];
static __attribute__((noinline)) int h(int x) { return x * 3 & 15; }
%s
%s int f(int w, int a, int b, int c) { %s return a + b + c; }
int main(int argc, char **argv) { int q = f(atoi(argv[1]), %d + argc, %d + argc, %d + argc); return q + h(value); }
""" % (r.randrange(9), put if wraps else "", r.choice(["static", "__attribute__((noinline)) static", ""]), body, r.randrange(9), r.randrange(9),
       r.randrange(9))


# Its one frame, which is that of main, calls with (peer, tag) in the places of (tag, peer).
ENDS_IN_CALL = HEADER + """
static int value;
__attribute__((noinline)) int put(void *b, int n, void *type, int tag, int to, void *comm)
{
	return MPI_Ssend(b, n, type, to, tag, comm);
}
int main(void) { return put(&value, 1, ompi_mpi_int, 7, 2, ompi_mpi_comm_world) + value; }
"""

# The variables are what they were, or another thread has filled them for the next call.
VARIABLES = HEADER + """
static volatile int value, helps = %d;
static volatile struct { int peer, tag; } *volatile work;
static void *change(void *unused)
{
	while (!inside)
		;
	work->peer = 9;
	inside = 2;
	while (helps)
		pause();
	return unused;
}
int main(void)
{
	pthread_t thread;

	work = (void *)malloc(sizeof(*work));
	work->peer = 3;
	work->tag = 4;
	helped = helps;
	if (helps)
		pthread_create(&thread, NULL, change, NULL);
	return MPI_Recv((void *)&value, 1, ompi_mpi_int, work->peer, work->tag, ompi_mpi_comm_world, NULL);
}
"""


def build(name, text, options):
    with open(name + ".c", "w", encoding="ascii") as file:
        file.write(text)
    subprocess.run(["gcc", "-w"] + options + [name + ".c"], check=True)


def read(reprise, which):
    """What it was called with, and what was read of that; nothing if it came to no call."""
    with subprocess.Popen(["./one", str(which)], stdout=subprocess.PIPE, text=True) as waits:
        called = waits.stdout.readline().split()
        said = subprocess.run([reprise, "hang", "--pid", str(waits.pid)], stdout=subprocess.PIPE, text=True).stdout if called else ""
        waits.kill()
    return called, re.search(r"(?:from|to) rank (\d+) of its communicator(?:, tag (\d+))?", said)


def check(reprise, name, text, options, which):
    """Was anything known?"""
    build("one", text, options + ["-o", "one", "-L.", "-Wl,-rpath,.", "-Wl,--no-as-needed", "-lmpi"])
    called, found = read(reprise, which)
    if found and (found.group(1) != called[0] or found.group(2) not in (None, called[1])):
        sys.exit("program %s, %s: called with %s, read %s" % (name, " ".join(options), called, found.groups()))
    return found is not None


def main():
    reprise, first, programs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    known = 0
    build("library", LIBRARY, ["-O2", "-shared", "-fPIC", "-o", "libmpi.so"])
    for options in (["-O2"], ["-O2", "-g"], ["-O2", "-fno-plt"]):
        check(reprise, "of a call at the end", ENDS_IN_CALL, options, 0)
    for options in (["-O0"], ["-O2"]):
        check(reprise, "with a helper", VARIABLES % 1, options, 0)
        if not check(reprise, "that is alone", VARIABLES % 0, options, 0):
            sys.exit("program that is alone: nothing was read of its variables")
    for seed in range(first, first + programs):
        r = random.Random(seed)
        n, text = program(r)
        options = [r.choice(["-O0", "-O1", "-O2", "-O3", "-Os"])] + r.choice(WAYS) + r.choice([["-g"], ["-g"], []])
        known += check(reprise, seed, text, options, r.randrange(n))
    print("%d of %d" % (known, programs))
    # It is no test if it reads nothing.
    sys.exit(known * 10 < programs)


main()
