# SPDX-License-Identifier: Apache-2.0
"""Which worker of a pool gets which task, and which result comes first, is chance."""
import multiprocessing as mp, os, time


def square(x):
    time.sleep(0.001 * (os.getpid() % 3))
    return x * x, os.getpid()


def put(queue, n):
    for k in range(3):
        queue.put((n, k, os.getpid()))


mp.set_start_method("fork")
with mp.Pool(3) as pool:
    print(pool.map(square, range(8)))
    print(list(pool.imap_unordered(square, range(8))))
queue = mp.Queue()
workers = [mp.Process(target=put, args=(queue, n)) for n in range(3)]
for worker in workers:
    worker.start()
for _ in range(9):
    print(queue.get())
for worker in workers:
    worker.join()
    print(worker.pid, worker.exitcode)
