#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Python through mpi4py: wildcard receives of Python objects (which mpi4py probes for first) and of
# buffers, Waitany, Iprobe, the clock, random numbers. Rank 0 prints what came.
import os
import random
import sys
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
me, size = comm.Get_rank(), comm.Get_size()
rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5

if me != 0:
    for i in range(rounds):
        comm.send({"from": me, "number": i, "random": random.random()}, dest=0, tag=1)
        comm.Send(bytearray([me]), dest=0, tag=2)
        comm.Send(bytearray([me]), dest=0, tag=3)
        comm.Send(bytearray([me]), dest=0, tag=3)
else:
    print("start", time.time(), MPI.Wtime(), os.getpid(), random.random(), os.urandom(8).hex())
    print(sorted(["wild", "card", "source"], key=hash), hash("hash"))
    status = MPI.Status()
    for i in range(rounds * (size - 1)):
        note = comm.recv(source=MPI.ANY_SOURCE, tag=1, status=status)
        assert note["from"] == status.Get_source()
        print("object", note)
        buffer = bytearray(1)
        misses = 0
        while not comm.Iprobe(source=MPI.ANY_SOURCE, tag=2, status=status):
            misses += 1
        comm.Recv(buffer, source=status.Get_source(), tag=2)
        print("probe", misses, buffer[0])
        buffers = [bytearray(1), bytearray(1)]
        requests = [comm.Irecv(b, source=MPI.ANY_SOURCE, tag=3) for b in buffers]
        for _ in requests:
            index = MPI.Request.Waitany(requests)
            print("posted", index, buffers[index][0])
    print("end", time.perf_counter(), time.monotonic())
