# SPDX-License-Identifier: Apache-2.0
# mutate.py cut|flip REPRISE TRACE FILE...: runs `reprise info` and `reprise dump` on the trace with
# one of its files cut at a byte, or with one bit of a byte flipped (and one bit per page row of unused
# header bytes). Every third byte has its turn, which ones is chance; with REPRISE_TEST_EVERY=1 every byte
# has. Each answer must be the one for the whole trace, or exit code 2 and one sentence; a signal, a hang
# or another answer is a failure. The file is put back after each.
import concurrent.futures
import os
import random
import shutil
import subprocess
import sys
import tempfile

HEADER = 4096
USED = 256  # bytes of a stream's header that mean something, rounded up
EVERY = int(os.environ.get("REPRISE_TEST_EVERY", "3"))


def ask(reprise, verb, trace):
    run = subprocess.run([reprise, verb, trace], capture_output=True, timeout=20, check=False)
    return run.returncode, run.stdout, run.stderr


def mutations(kind, name, data, first):
    generator = random.Random(name + kind)
    for at in range(first, len(data), EVERY):
        stream = data[:8] == b"REPRISE\n"
        if stream and USED <= at < HEADER and at % 32 >= EVERY:
            continue
        if kind == "cut":
            yield f"cut at byte {at}", data[:at]
        else:
            bit = generator.randrange(8)
            changed = bytearray(data)
            changed[at] ^= 1 << bit
            yield f"bit {bit} of byte {at} flipped", bytes(changed)


def check_file(kind, reprise, trace, name, first, part, parts):
    """Works on a copy of the trace, at a path as long as the original's."""
    failures = []
    count = 0
    with tempfile.TemporaryDirectory() as place:
        copy = os.path.join(place, "trace")
        shutil.copytree(trace, copy)
        path = os.path.join(copy, name)
        with open(path, "rb") as file:
            data = file.read()
        whole = {verb: ask(reprise, verb, copy) for verb in ("info", "dump")}
        for verb, answer in whole.items():
            if answer[0] != 0:
                return 0, [f"{verb} of the whole trace: {answer}"]
        for number, (what, changed) in enumerate(mutations(kind, name, data, first)):
            if number % parts != part:
                continue
            with open(path, "wb") as file:
                file.write(changed)
            for verb in ("info", "dump"):
                count += 1
                try:
                    code, out, err = ask(reprise, verb, copy)
                except subprocess.TimeoutExpired:
                    failures.append(f"{verb}, {name} {what}: hangs")
                    continue
                lines = err.splitlines()
                sentence = len(lines) == 1 and lines[0].startswith(b"reprise: ")
                same = code == 0 and out == whole[verb][1] and not err
                if not same and not (code == 2 and sentence):
                    failures.append(f"{verb}, {name} {what}: code {code}, {err[:300]!r}")
    return count, failures


def main():
    kind, reprise, trace = sys.argv[1:4]
    parts = os.cpu_count() or 1
    total, failures = 0, []
    first = random.randrange(EVERY)
    print(f"every {EVERY}. byte, from {first} on")
    with concurrent.futures.ThreadPoolExecutor(parts) as pool:
        jobs = [
            pool.submit(check_file, kind, reprise, trace, name, first, part, parts)
            for name in sys.argv[4:]
            for part in range(parts)
        ]
        for job in jobs:
            count, bad = job.result()
            total += count
            failures += bad
    for failure in failures[:20]:
        print(failure)
    print(f"{total} answers, {len(failures)} wrong")
    sys.exit(1 if failures or total == 0 else 0)


main()
