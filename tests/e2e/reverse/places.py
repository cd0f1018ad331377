# SPDX-License-Identifier: Apache-2.0
"""In gdb: PLACE is come to by monitor break, forwards, backwards, and backwards from the end, and by monitor goto from both
sides. Each time the registers, the thread and DATA are the same."""
import gdb, os
place, data = os.environ["PLACE"], os.environ["DATA"].split()


def run(command):
    return gdb.execute(command, to_string=True)


def look():
    """Where it stands, as far as the program and the recording can tell; the thread is the one that runs."""
    number = int(run("monitor state").split()[9])
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == number:
            thread.switch()
    name = [line for line in run("info threads").splitlines() if line.startswith("*")][0].split("(")[1].split(")")[0]
    return [name, run("info registers")] + [run("print " + d).split("=", 1)[1] for d in data]


def there(command):
    """Was it a place, and not an end of the history?"""
    run(command)
    words = run("monitor state").split()
    return words[5] == "0" and words[7] == "0"


run("monitor goto start")
assert "stops at" in run("monitor break " + place)
seen, forth, back = [], 0, 0
while there("continue"):
    forth += 1
    seen.append(look())
while there("reverse-continue"):
    back += 1
    seen.append(look())
run("monitor goto end")
# It ended meanwhile: a thread is not there any more.
run("monitor delete")
assert "stops at" in run("monitor break " + place)
while there("reverse-continue"):
    back += 1
    seen.append(look())
run("monitor delete")
run("monitor goto end")
run("monitor goto " + place)
seen.append(look())
run("monitor goto start")
run("monitor goto " + place)
seen.append(look())
same = sum(1 for one in seen if one == seen[0])
for one in seen:
    if one != seen[0]:
        print("OTHER", one, "THAN", seen[0])
print("PLACE %s: thread %s, forth %d, back %d, alike %d" % (place, seen[0][0], forth, back, same))
