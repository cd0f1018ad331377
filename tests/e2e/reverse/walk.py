# SPDX-License-Identifier: Apache-2.0
"""In gdb: goes forward and back by lines and instructions, as SEED says, and prints where that leads."""
import os
import random

import gdb

random.seed(int(os.environ["SEED"]))
WAYS = ["step", "next", "reverse-step", "reverse-next", "stepi", "reverse-stepi", "step", "reverse-step"]


def quiet(command):
    return gdb.execute(command, to_string=True)


quiet("set pagination off")
quiet("set confirm off")
if os.environ["HOW"] == "record":
    quiet("break main")
    quiet("run")
    quiet("record full")
    quiet("break " + os.environ["LAST"])
    quiet("continue")
    quiet("delete")
    quiet("reverse-continue")
quiet("break add")
for _ in range(3):
    quiet("continue")
quiet("delete")
for i in range(int(os.environ["STEPS"])):
    way = random.choice(WAYS)
    end = "history" in quiet(way)
    data = tuple(str(gdb.parse_and_eval(n)) for n in ("total", "used", "head"))
    print("WALK", i, way, end, hex(int(gdb.parse_and_eval("(long)$pc"))), gdb.selected_frame().name(), *data)
