#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plant.py make SEED FILE: writes a random C program with data races planted in it, and says what they are.

A program is a row of scenes, each of them right or with one mistake: a counter without its lock, a queue without
one, double-checked locking, a lock-free stack that is none, a barrier or a depend clause that is missing. Between two
scenes all threads meet, so whether a scene races does not depend on others, nor on the order of threads. Variables
are racy_… (the mistake: they race in every run), may_… (a consequence: in some) and fine_….
Prints how it is compiled: "gcc" or "clang", then options.

plant.py check FILE FOUND STATUS: what `reprise races --format=json` has found, and its exit status, are those of FILE:
all variables racy_…, maybe some may_…, and no others. Says what is not so, status 1."""
import json
import random
import re
import sys

THREADS = 3


class Scene:
    """Its code: what every thread runs (`me` is 0, 1, 2), and what comes before all functions."""

    def __init__(self, number, wrong):
        self.number, self.wrong = number, wrong
        self.name = f"{'racy' if wrong else 'fine'}_{number}"
        self.may = f"{'may' if wrong else 'fine'}_{number}"
        self.fine = f"fine_{number}"
        self.top, self.body, self.main = [], [], []


def guarded(s, lines, lock=None):
    """`lines` with the scene's lock around them, unless that is the mistake."""
    if s.wrong and lock is None:
        return lines
    lock = lock or f"lock_{s.number}[0]"
    return [f"pthread_mutex_lock(&{lock});", *lines, f"pthread_mutex_unlock(&{lock});"]


def locks(s):
    s.top.append(f"static pthread_mutex_t lock_{s.number}[2] = {{PTHREAD_MUTEX_INITIALIZER, "
                 "PTHREAD_MUTEX_INITIALIZER};")


def counter(s, r):
    locks(s)
    kind = r.choice(["char", "short", "int", "long", "double"])
    s.top.append(f"{kind} {s.name}_count;")
    s.body += guarded(s, [f"{s.name}_count += me + 1;"])


def two_locks(s, r):
    locks(s)
    s.top.append(f"long {s.name}_sum;")
    mine = f"lock_{s.number}[{'me % 2' if s.wrong else 0}]"
    s.body += guarded(s, [f"{s.name}_sum += {r.randint(1, 9)};"], mine)


def queue(s, r):
    locks(s)
    n = r.choice([4, 8, 16])
    s.top += [f"int {s.may}_slot[{n}];", f"unsigned {s.name}_head;"]
    s.body += ["unsigned at;"] + guarded(s, [f"at = {s.name}_head;", f"{s.name}_head = at + 1;",
                                            f"{s.may}_slot[at % {n}] = (int)me;"])


def double_checked(s, _):
    locks(s)
    s.top += [f"int {s.may}_made;"]
    if s.wrong:
        s.top.append(f"int *{s.name}_made_at;")
        s.body += [f"int *p = {s.name}_made_at;"] + guarded(s, [
            f"if (!{s.name}_made_at) {{", f"{s.may}_made = 42;", f"{s.name}_made_at = &{s.may}_made;", "}",
            f"used[me] += {s.name}_made_at == &{s.may}_made;"], f"lock_{s.number}[0]")
        s.body += ["used[me] += p && *p != 42;"]
        return
    s.top.append(f"_Atomic(int *) {s.name}_made_at;")
    s.body += [f"int *p = atomic_load_explicit(&{s.name}_made_at, memory_order_acquire);", "if (!p) {"]
    s.body += guarded(s, [f"p = atomic_load_explicit(&{s.name}_made_at, memory_order_relaxed);", "if (!p) {",
                          f"{s.may}_made = 42;", f"p = &{s.may}_made;",
                          f"atomic_store_explicit(&{s.name}_made_at, p, memory_order_release);", "}"])
    s.body += ["}", "used[me] += *p != 42;"]


def stack(s, r):
    n = r.randint(1, 4)
    node = f"node_{s.number}"
    s.top += [f"struct {node} {{ struct {node} *next; int value; }} {s.fine}_nodes[{THREADS}][{n}];"]
    push = [f"{s.fine}_nodes[me][i].value = i;"]
    if s.wrong:
        s.top.append(f"struct {node} *{s.name}_head;")
        push += [f"{s.fine}_nodes[me][i].next = {s.name}_head;", f"{s.name}_head = &{s.fine}_nodes[me][i];"]
        s.body += [f"for (int i = 0; i < {n}; i++) {{", *push, "}"]
        return
    s.top.append(f"_Atomic(struct {node} *) {s.name}_head;")
    push += [f"struct {node} *old = atomic_load_explicit(&{s.name}_head, memory_order_relaxed);",
             f"do {s.fine}_nodes[me][i].next = old;",
             f"while (!atomic_compare_exchange_weak_explicit(&{s.name}_head, &old, &{s.fine}_nodes[me][i], "
             "memory_order_release, memory_order_relaxed));"]
    s.body += [f"for (int i = 0; i < {n}; i++) {{", *push, "}", f"for (int i = 0; i < {n}; i++) {{",
               f"struct {node} *old = atomic_load_explicit(&{s.name}_head, memory_order_acquire);",
               f"while (old && !atomic_compare_exchange_weak_explicit(&{s.name}_head, &old, old->next, "
               "memory_order_acquire, memory_order_acquire));",
               "used[me] += old ? old->value : 0;", "}"]


def no_barrier(s, _):
    s.top += [f"int {s.name}_part[{THREADS}];", f"static pthread_barrier_t barrier_{s.number};"]
    s.main.append(f"pthread_barrier_init(&barrier_{s.number}, NULL, THREADS);")
    s.body += [f"{s.name}_part[me] = (int)me + 1;"]
    if not s.wrong:
        s.body += [f"pthread_barrier_wait(&barrier_{s.number});"]
    s.body += [f"used[me] += {s.name}_part[(me + 1) % THREADS];"]


def rwlock(s, _):
    s.top += [f"static pthread_rwlock_t rwlock_{s.number} = PTHREAD_RWLOCK_INITIALIZER;", f"int {s.name}_shared;"]
    s.body += [f"pthread_rwlock_{'rd' if s.wrong else 'wr'}lock(&rwlock_{s.number});", f"{s.name}_shared++;",
               f"pthread_rwlock_unlock(&rwlock_{s.number});"]


def ranges(s, r):
    n = r.randint(3, 20)
    s.top.append(f"char {s.name}_text[{THREADS * n + 1}];")
    s.body.append(f"memset({s.name}_text + me * {n}, 'a' + (int)me, {n + 1 if s.wrong else n});")


def handed(s, _):
    s.top += [f"static sem_t sem_{s.number};", f"int {s.name}_data;"]
    s.main.append(f"sem_init(&sem_{s.number}, 0, 0);")
    s.body += ["if (me == 0) {", f"{s.name}_data = 1;", *([f"sem_post(&sem_{s.number});"] * (THREADS - 1)),
               *([f"{s.name}_data = 2;"] if s.wrong else []), "} else {", f"sem_wait(&sem_{s.number});",
               f"used[me] += {s.name}_data;", "}"]


def flag(s, _):
    release, acquire = ("relaxed", "relaxed") if s.wrong else ("release", "acquire")
    s.top += [f"static atomic_int flag_{s.number};", f"long {s.name}_data;"]
    s.body += ["if (me == 0) {", f"{s.name}_data = 7;",
               f"atomic_store_explicit(&flag_{s.number}, 1, memory_order_{release});", "} else {",
               f"while (!atomic_load_explicit(&flag_{s.number}, memory_order_{acquire}))", "sched_yield();",
               f"used[me] += {s.name}_data;", "}"]


def plain_flag(s, _):
    s.top += [f"static atomic_int flag_{s.number};", f"long {s.name}_data;"]
    late = f"{s.name}_data = 7;"
    s.body += ["if (me == 0) {", *([] if s.wrong else [late]), f"atomic_store(&flag_{s.number}, 1);",
               *([late] if s.wrong else []), "} else {", f"while (!atomic_load(&flag_{s.number}))", "sched_yield();",
               f"used[me] += {s.name}_data;", "}"]


def fences(s, r):
    missing = r.choice(["release", "acquire"]) if s.wrong else ""
    order = r.choice(["release acquire", "seq_cst seq_cst", "acq_rel acq_rel"]).split()
    s.top += [f"static atomic_int flag_{s.number};", f"long {s.name}_data;"]
    s.body += ["if (me == 0) {", f"{s.name}_data = 7;",
               *([] if missing == "release" else [f"atomic_thread_fence(memory_order_{order[0]});"]),
               f"atomic_store_explicit(&flag_{s.number}, 1, memory_order_relaxed);", "} else {",
               f"while (!atomic_load_explicit(&flag_{s.number}, memory_order_relaxed))", "sched_yield();",
               *([] if missing == "acquire" else [f"atomic_thread_fence(memory_order_{order[1]});"]),
               f"used[me] += {s.name}_data;", "}"]


def last_one(s, _):
    order = "relaxed" if s.wrong else "acq_rel"
    s.top += [f"static atomic_int left_{s.number} = THREADS;", f"long {s.name}_part[THREADS];"]
    s.body += [f"{s.name}_part[me] = me + 1;",
               f"if (atomic_fetch_sub_explicit(&left_{s.number}, 1, memory_order_{order}) == 1)",
               "for (int i = 0; i < THREADS; i++)", f"used[me] += {s.name}_part[i];"]


def looked_at(s, _):
    """Who only looks at a variable orders nothing."""
    look = f"atomic_load(&seen_{s.number})" if s.wrong else f"atomic_fetch_add(&seen_{s.number}, 1)"
    s.top += [f"static atomic_int seen_{s.number};", f"long {s.name}_data;"]
    s.body += [f"used[me] += {look};"] if s.wrong else []
    s.body += ["if (me == 0) {", f"{s.name}_data = 1;", f"used[me] += {look};", "} else {",
               *([] if s.wrong else [f"while (!atomic_load(&seen_{s.number}))", "sched_yield();"]),
               f"used[me] += atomic_load(&seen_{s.number}) + {s.name}_data;", "}"]


def condition(s, _):
    locks(s)
    lock = f"lock_{s.number}[0]"
    s.top += [f"static pthread_cond_t cond_{s.number} = PTHREAD_COND_INITIALIZER;", f"int {s.fine}_ready;",
              f"int {s.name}_data;"]
    s.body += ["if (me == 1) {", f"{s.name}_data = 1;", f"pthread_mutex_lock(&{lock});", f"{s.fine}_ready = 1;",
               f"pthread_cond_broadcast(&cond_{s.number});", f"pthread_mutex_unlock(&{lock});",
               *([f"{s.name}_data = 2;"] if s.wrong else []), "} else {", f"pthread_mutex_lock(&{lock});",
               f"while (!{s.fine}_ready)", f"pthread_cond_wait(&cond_{s.number}, &{lock});",
               f"pthread_mutex_unlock(&{lock});", f"used[me] += {s.name}_data;", "}"]


def child(s, _):
    s.top += [f"int {s.name}_result;",
              f"static void *child_{s.number}(void *arg) {{", f"{s.name}_result = 5;", "return arg;", "}"]
    read = f"used[me] += {s.name}_result;"
    s.body += ["if (me == 2) {", "pthread_t t;", f"pthread_create(&t, NULL, child_{s.number}, NULL);",
               *([read] if s.wrong else []), "pthread_join(t, NULL);", *([] if s.wrong else [read]), "}"]


def heap(s, r):
    locks(s)
    n = r.choice([1, 2, 8, 100])
    s.top.append(f"long *{s.fine}_block, {s.name}_sum;")
    s.main.append(f"{s.fine}_block = calloc({n * THREADS}, sizeof(long));")
    s.body += [f"for (int i = 0; i < {n}; i++)", f"{s.fine}_block[{THREADS} * i + me] = i;"]
    s.body += guarded(s, [f"{s.name}_sum += {s.fine}_block[me] + 1;"])


PTHREADS = [counter, two_locks, queue, double_checked, stack, no_barrier, rwlock, ranges, handed, flag,
            plain_flag, fences, last_one, looked_at, condition, child, heap]

# OpenMP: each scene is a region, and a block of the main thread.


def omp_sum(s, r):
    s.top.append(f"long {s.name}_sum;")
    add = f"{s.name}_sum += i;"
    how = r.choice(["reduction", "critical", "atomic", "ordered"])
    if s.wrong:
        s.body += ["#pragma omp parallel for num_threads(THREADS)", "for (int i = 0; i < 12; i++)", add]
    elif how == "reduction":
        s.body += [f"#pragma omp parallel for num_threads(THREADS) reduction(+ : {s.name}_sum)",
                   "for (int i = 0; i < 12; i++)", add]
    elif how == "ordered":
        s.body += ["#pragma omp parallel for num_threads(THREADS) ordered", "for (int i = 0; i < 12; i++) {",
                   "#pragma omp ordered", add, "}"]
    else:
        s.body += ["#pragma omp parallel for num_threads(THREADS)", "for (int i = 0; i < 12; i++) {",
                   f"#pragma omp {how}", add, "}"]


def omp_nowait(s, _):
    s.top += [f"int {s.name}_part[12];", f"int {s.fine}_sum[12];"]
    s.body += ["#pragma omp parallel num_threads(THREADS)", "{",
               f"#pragma omp for schedule(static){' nowait' if s.wrong else ''}", "for (int i = 0; i < 12; i++)",
               f"{s.name}_part[i] = i;", "#pragma omp for schedule(static)", "for (int i = 0; i < 12; i++)",
               f"{s.fine}_sum[i] = {s.name}_part[11 - i];", "}"]


def omp_single(s, _):
    s.top.append(f"int {s.name}_set;")
    s.body += ["#pragma omp parallel num_threads(THREADS)", "{", f"#pragma omp single{' nowait' if s.wrong else ''}",
               f"{s.name}_set = 3;", f"used[omp_get_thread_num()] += {s.name}_set;", "}"]


def omp_master(s, _):
    s.top.append(f"int {s.name}_set;")
    s.body += ["#pragma omp parallel num_threads(THREADS)", "{", "#pragma omp master", f"{s.name}_set = 3;",
               *([] if s.wrong else ["#pragma omp barrier"]), f"used[omp_get_thread_num()] += {s.name}_set;", "}"]


def omp_names(s, _):
    other = f"(b_{s.number})" if s.wrong else f"(a_{s.number})"
    s.top.append(f"int {s.name}_count;")
    s.body += ["#pragma omp parallel num_threads(THREADS)", "if (omp_get_thread_num()) {",
               f"#pragma omp critical(a_{s.number})", f"{s.name}_count++;", "} else {",
               f"#pragma omp critical{other}", f"{s.name}_count += 2;", "}"]


def omp_lock(s, _):
    s.top += [f"static omp_lock_t omp_lock_{s.number};", f"int {s.name}_count;"]
    s.body += [f"omp_init_lock(&omp_lock_{s.number});", "#pragma omp parallel num_threads(THREADS)", "{",
               *([] if s.wrong else [f"omp_set_lock(&omp_lock_{s.number});"]), f"{s.name}_count++;",
               *([] if s.wrong else [f"omp_unset_lock(&omp_lock_{s.number});"]), "}",
               f"omp_destroy_lock(&omp_lock_{s.number});"]


def omp_depend(s, r):
    """A chain of tasks, one of which does not say what it depends on."""
    s.top += [f"int {s.name}_x;", f"int {s.fine}_y[4];"]
    n = r.randint(2, 4)
    missing = r.randrange(n) if s.wrong else -1
    s.body += ["#pragma omp parallel num_threads(THREADS)", "#pragma omp single", "{"]
    for i in range(n):
        clause = "" if i == missing else f" depend({'out' if i == 0 else 'inout'} : {s.name}_x)"
        s.body += [f"#pragma omp task{clause}", f"{s.fine}_y[{i}] = ++{s.name}_x;"]
    s.body += ["#pragma omp taskwait", f"used[0] += {s.fine}_y[0] + {s.name}_x;", "}"]


def omp_taskwait(s, r):
    s.top.append(f"int {s.name}_x;")
    how = r.choice(["taskwait", "taskgroup", "if (0)"])
    s.body += ["#pragma omp parallel num_threads(THREADS)", "#pragma omp single", "{"]
    if how == "taskgroup" and not s.wrong:
        s.body += ["#pragma omp taskgroup", "{"]
    s.body += [f"#pragma omp task{' if (0)' if how == 'if (0)' and not s.wrong else ''}", f"{s.name}_x = 4;"]
    if how == "taskgroup" and not s.wrong:
        s.body += ["}"]
    if how == "taskwait" and not s.wrong:
        s.body += ["#pragma omp taskwait"]
    s.body += [f"used[0] += {s.name}_x;", "}"]


def omp_taskloop(s, _):
    s.top += [f"int {s.fine}_part[24];", f"int {s.name}_sum;"]
    s.body += ["#pragma omp parallel num_threads(THREADS)", "#pragma omp single", "#pragma omp taskloop num_tasks(4)",
               "for (int i = 0; i < 24; i++) {", f"{s.fine}_part[i] = i;",
               *([] if s.wrong else ["#pragma omp atomic"]), f"{s.name}_sum += i;", "}"]


OPENMP = [omp_sum, omp_nowait, omp_single, omp_master, omp_names, omp_lock, omp_depend, omp_depend, omp_taskwait,
          omp_taskloop]

HEAD = """/* Made by tests/plant.py, number {seed}. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
{extra}
#define THREADS {threads}
static long used[THREADS];
"""


def make(seed, path):
    r = random.Random(seed)
    openmp = r.random() < 0.3
    kinds = OPENMP if openmp else PTHREADS
    scenes = []
    for i in range(r.randint(2, 7)):
        s = Scene(i, r.random() < 0.4)
        r.choice(kinds)(s, r)
        scenes.append(s)
    out = [HEAD.format(seed=seed, threads=THREADS, extra="#include <omp.h>" if openmp else "")]
    for s in scenes:
        out += s.top
    for s in scenes:
        out += [f"static void scene_{s.number}({'void' if openmp else 'long me'})", "{", *s.body, "}"]
    if openmp:
        out += ["int main(void)", "{", *[f"scene_{s.number}();" for s in scenes]]
    else:
        out += ["static pthread_barrier_t all;", "static void *work(void *arg)", "{", "long me = (long)arg;"]
        for s in scenes:
            out += ["pthread_barrier_wait(&all);", f"scene_{s.number}(me);"]
        out += ["return NULL;", "}", "int main(void)", "{", "pthread_t t[THREADS];",
                "pthread_barrier_init(&all, NULL, THREADS);"]
        for s in scenes:
            out += s.main
        out += ["for (long i = 0; i < THREADS; i++)", "pthread_create(&t[i], NULL, work, (void *)i);",
                "for (int i = 0; i < THREADS; i++)", "pthread_join(t[i], NULL);"]
    out += ['printf("done\\n");', "return 0;", "}"]
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(out) + "\n")
    level = r.choice(["-O0", "-O1", "-O2"])
    compiler = "gcc" if openmp or r.random() < 0.7 else "clang"
    print(compiler, level, "-g", "-fopenmp" if openmp else "-pthread")


def check(path, found, status):
    with open(path, encoding="ascii") as f:
        racy = set(re.findall(r"\bracy_\d+_\w+", f.read()))
    with open(found, encoding="utf-8") as f:
        races = json.load(f)
    names = {re.sub(r"\+.*", "", race["what"]) for race in races["data_races"]}
    wrong = [f"{name} raced and was not found" for name in sorted(racy - names)]
    wrong += [f"{name} was found" for name in sorted(names - racy) if not name.startswith("may_")]
    if status != (1 if names else 0):
        wrong.append(f"the exit status was {status}")
    if not races["complete"]:
        wrong.append("the replay was not complete")
    if wrong:
        print("; ".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(int(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(check(sys.argv[2], sys.argv[3], int(sys.argv[4])))
