#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""racy.py SEED FILE: writes a random C program whose threads race for nearly all of their data, and prints how it is
compiled: "gcc" or "clang", then options.

What a thread reads decides what it does next, so that one access out of order changes nearly everything that
follows. Nothing depends on it whether the program ends: loops have fixed numbers of rounds, and who waits for another
thread does so by words that only grow. Where threads wait, memory is what the source says: otherwise the compiler may
keep in registers what it writes in the checked twin. In the end all memory that was shared is printed."""
import random
import sys

KINDS = ["char", "short", "int", "long", "double", "float"]


class Program:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.threads = self.r.randint(2, 5)
        self.rounds = self.r.choice([20, 60, 150])
        self.arrays = [(f"data_{i}", self.r.choice(KINDS), self.r.choice([1, 2, 3, 8, 33]))
                       for i in range(self.r.randint(1, 4))]
        self.actions = []

    def array(self):
        return self.r.choice(self.arrays)

    # Each returns lines; `x` is what the thread knows, `me` its number.

    def bump(self):
        name, _, n = self.array()
        return [f"{name}[x % {n}] += (x >> 4) % 100;"]

    def lose(self):
        name, kind, n = self.array()
        return [f"{kind} was = {name}[x % {n}];", self.point(), f"{name}[x % {n}] = was + 1;"]

    def look(self):
        name, _, n = self.array()
        return [f"x = x * 31 + (unsigned long)(long){name}[(x >> 3) % {n}];"]

    def copy(self):
        name, kind, n = self.array()
        if n < 2:
            return self.look()
        return [f"memcpy(&{name}[0], &{name}[{n // 2}], {n // 2} * sizeof({kind}));"]

    def wipe(self):
        name, kind, n = self.array()
        return [f"if (x % 9 == 0) memset({name}, (int)(x % 50), {n} * sizeof({kind}));"]

    def write_text(self):
        return ["size_t n = strlen(text[x % 3]);", "if (n < 30 && x % 4) text[x % 3][n] = 'a' + (char)me;",
                "else strcpy(text[x % 3], x % 8 < 4 ? \"\" : \"begin\");", "x += n;"]

    def compare_text(self):
        return ["x += (unsigned long)(strcmp(text[x % 3], text[(x + 1) % 3]) > 0);"]

    def push(self):
        return ["struct node *n = malloc(sizeof(*n));", "n->value = x;", "n->next = head;", self.point(), "head = n;"]

    def walk(self):
        return ["int most = 5;", "for (struct node *n = head; n && most--; n = n->next) x ^= n->value;"]

    def struct_copy(self):
        return ["pairs[x % 4] = pairs[(x >> 5) % 4];", "pairs[(x + me) % 4].a += x;", "x += pairs[me % 4].b++;"]

    def bits(self):
        return ["flags.low += 1;", "flags.high ^= (unsigned)x;", "x += flags.low;"]

    def atomic_add(self):
        order = self.r.choice(["relaxed", "acq_rel", "seq_cst"])
        return [f"x += atomic_fetch_add_explicit(&count, x & 7, memory_order_{order});"]

    def atomic_swap(self):
        return ["unsigned long old = atomic_load_explicit(&count, memory_order_relaxed);",
                "int most = 3;", "while (most-- && !atomic_compare_exchange_strong(&count, &old, old ^ (x & 255)));",
                "x += old;"]

    def locked(self):
        inner = self.r.choice([self.bump, self.look, self.struct_copy])()
        return ["pthread_mutex_lock(&lock);", *inner, "pthread_mutex_unlock(&lock);"]

    def tried(self):
        return ["if (pthread_mutex_trylock(&lock) == 0) {", *self.bump(), "pthread_mutex_unlock(&lock);", "}"]

    def point(self):
        return self.r.choice(["sched_yield();", "if (x % 3 == 0) sched_yield();", "free(malloc(x % 100 + 1));", ";"])

    def make(self):
        kinds = [self.bump, self.lose, self.lose, self.look, self.look, self.copy, self.wipe, self.write_text,
                 self.compare_text, self.push, self.walk, self.struct_copy, self.bits, self.atomic_add,
                 self.atomic_swap, self.locked, self.tried]
        chosen = [self.r.choice(kinds)() for _ in range(self.r.randint(3, 10))]
        out = ["/* Made by tests/racy.py. */"]
        out += [f"#include <{name}.h>" for name in
                ("pthread", "sched", "stdatomic", "stdio", "stdlib", "string")]
        out += [f"#define THREADS {self.threads}", '#define AS_WRITTEN __asm__ volatile("" : : : "memory")']
        out += [f"{kind} {name}[{n}];" for name, kind, n in self.arrays]
        out += ["char text[3][33];", "struct node { struct node *next; unsigned long value; } *head;",
                "struct pair { unsigned long a; short b; char c[5]; } pairs[4];",
                "struct { unsigned low : 5, high : 11; } flags;", "_Atomic unsigned long count;",
                "volatile unsigned long steps[THREADS];", "unsigned long known[THREADS];",
                "pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;", "pthread_barrier_t all;"]
        out += ["static void *work(void *arg)", "{", "unsigned long me = (unsigned long)arg, x = me * 77 + 1;",
                f"for (int i = 0; i < {self.rounds}; i++) {{", f"switch ((x ^ x >> 7) % {len(chosen)}) {{"]
        for i, lines in enumerate(chosen):
            out += [f"case {i}: {{", *lines, "break;", "}"]
        out += ["}", "x = x * 6364136223846793005ul + 1442695040888963407ul;", "x ^= x >> 29;"]
        meet = self.r.choice(["none", "barrier", "steps", "spin"])
        every = self.r.choice([7, 20])
        if meet == "barrier":
            out += [f"if (i % {every} == 0) pthread_barrier_wait(&all);"]
        elif meet != "none":
            wait = "sched_yield();" if meet == "steps" else "AS_WRITTEN;"
            out += [f"if (i % {every} == 0) {{", "AS_WRITTEN;", "steps[me]++;",
                    f"while (steps[(me + 1) % THREADS] < steps[me]) {wait}", "}"]
        out += ["}", "AS_WRITTEN;", "steps[me] = 1000000;", "known[me] = x;", "return NULL;", "}"]
        out += ["static void show(const char *name, const void *p, size_t n)", "{", "const unsigned char *at = p;",
                'printf("%s", name);', 'while (n--) printf(" %02x", *at++);', 'printf("\\n");', "}"]
        out += ["int main(void)", "{", "pthread_t t[THREADS];", "unsigned long sum = 0;",
                "pthread_barrier_init(&all, NULL, THREADS);", "for (unsigned long i = 0; i < THREADS; i++)",
                "pthread_create(&t[i], NULL, work, (void *)i);", "for (int i = 0; i < THREADS; i++)",
                "pthread_join(t[i], NULL);"]
        out += [f'show("{name}", {name}, sizeof({name}));' for name, _, _ in self.arrays]
        out += ['show("text", text, sizeof(text));', 'show("flags", &flags, sizeof(flags));',
                "for (struct node *n = head; n; n = n->next)", "sum = sum * 7 + n->value;",
                'for (int i = 0; i < 4; i++) printf("%lu %d\\n", pairs[i].a, pairs[i].b);',
                'for (int i = 0; i < THREADS; i++) printf("%lu\\n", known[i]);',
                'printf("%lu %lu\\n", sum, count);', "return 0;", "}"]
        return out


def main():
    program = Program(int(sys.argv[1]))
    with open(sys.argv[2], "w", encoding="ascii") as f:
        f.write("\n".join(program.make()) + "\n")
    level = program.r.choice(["-O0", "-O1", "-O2"])
    print(program.r.choice(["gcc", "gcc", "clang"]), level, "-g", "-w", "-pthread")


if __name__ == "__main__":
    main()
