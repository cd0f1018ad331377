#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the MPI wrappers of one flavour, or the list of call names, from calls.tbl.

generate.py calls.tbl openmpi|mpich OUT.c OUT.h
generate.py calls.tbl names OUT.c
"""
import re
import sys

PEERS = ("dest", "source", "root")
TAGS = ("tag", "sendtag")
EXTRAS = ("count", "sendcount", "recvcount", "incount", "recvtag", "color", "key")
# Calls that are events but no communication.
SILENT = ("Pready", "Pready_list", "Pready_range", "Buffer_detach")
BY_MEMBERS = ("Comm_create_group", "Intercomm_create")
# Calls that have a short way of their own, in quick.h.
HOT = ("Recv", "Send")
# Collective operations by which a rank learns of others: stamp/collective.c. Each also as a call
# that only begins it, and for large counts.
FLOWS = ("Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv",
         "Alltoall", "Alltoallv", "Alltoallw", "Allreduce", "Reduce", "Reduce_scatter",
         "Reduce_scatter_block", "Scan", "Exscan")
NONBLOCKING = {"Send": "Isend", "Ssend": "Issend", "Rsend": "Irsend", "Bsend": "Ibsend"}


class Call:
    def __init__(self, number, line):
        self.kind, self.flavour, prototype = line.split("\t")
        match = re.fullmatch(r"(\w+) (\w+)\((.*)\)", prototype)
        if not match:
            sys.exit(f"calls.tbl: not a prototype: {prototype}")
        self.number = number
        self.result, self.name, self.params = match.groups()
        self.names = []
        if self.params != "void":
            self.names = [re.search(r"(\w+)(\[\w*\])*$", p.strip()).group(1)
                          for p in self.params.split(",")]

    def args(self, *first):
        return ", ".join(list(first) + self.names)

    def mode_name(self):
        return self.name.removesuffix("_c")

    def mode_params(self):
        params = re.sub(r"\bint (count|sendcount|recvcount)\b", r"MPI_Count \1", self.params)
        if self.name == "Startall" or "array_of_requests" in params:
            params = self.params
        return params

    def flow(self):
        """Which of FLOWS it is, or None."""
        name = self.mode_name()
        if "request" in self.names and name[0] == "I":
            name = name[1:].capitalize()
        return name if name in FLOWS else None

    def pick(self, names, default):
        found = [n for n in names if n in self.names]
        return found[0] if found else default

    def extras(self):
        terms = []
        params = dict(zip(self.names, self.params.split(",")))
        for i, name in enumerate(n for n in EXTRAS if n in self.names):
            if "[" in params[name] or "*" in params[name]:
                continue
            terms.append(f"(uint64_t){name} * {2 * i + 3}u")
        return " + ".join(terms) or "0"

    def of_type(self, mpi_type):
        """The first argument of exactly this type, such as "MPI_Comm" or "MPI_Comm *"."""
        for name, param in zip(self.names, self.params.split(",")):
            if re.fullmatch(rf"{re.escape(mpi_type)}\s*{name}", param.strip()):
                return name
        return None

    def act_kind(self):
        """What the call does (enum hook_mpi_act_kind without HOOK_ACT_), or None."""
        name = self.mode_name()
        if name in SILENT or self.kind not in ("send", "post", "event"):
            return None
        if self.kind in ("send", "post"):
            return "SEND" if self.kind == "send" else "ISEND"
        if name in ("Comm_free", "Comm_disconnect"):
            return "COMM_FREE"
        if self.of_type("MPI_Comm *"):
            if not self.of_type("MPI_Comm"):
                return None
            return "COMM_GROUP" if name in BY_MEMBERS else "COMM"
        if name in ("Mrecv", "Imrecv"):
            return name.upper()
        if name.endswith("_init"):
            if name == "Precv_init":
                return "RECV_INIT"
            return "SEND_INIT" if name[1:] in ("end_init", "send_init") else "COLL_INIT"
        return "ICOLL" if "request" in self.names else "COLL"

    def amount(self):
        """Count and type that are surely valid if the call is; and the condition for it."""
        if {"count", "datatype"} <= set(self.names):
            return "count", "datatype", self.pick(("dest", "root"), None)
        side = "recv" if "catter" in self.name and "educe" not in self.name else "send"
        if {f"{side}count", f"{side}type", f"{side}buf"} <= set(self.names):
            in_place = f"{side}buf != MPI_IN_PLACE"
            return f"{side}count", f"{side}type", self.pick(("root",), None), in_place
        return None

    def act(self):
        """Fills the members of struct hook_mpi_act that this call has."""
        members = [f".kind = HOOK_ACT_{self.act_kind()}"]
        if self.mode_name().removesuffix("_init") in ("Ssend", "Issend"):
            members.append(".sync = true")
        members.append(f".peer = {self.pick(PEERS, 'HOOK_NO_PEER')}")
        members.append(f".tag = {self.pick(TAGS, '0')}")
        for member, mpi_type in (("comm", "MPI_Comm"), ("newcomm", "MPI_Comm *"),
                                 ("request", "MPI_Request *"), ("message", "MPI_Message *")):
            if self.of_type(mpi_type):
                members.append(f".{member} = {self.of_type(mpi_type)}")
        if self.of_type("MPI_Message *"):
            members.append(f".taken = *{self.of_type('MPI_Message *')}")
        amount = self.amount()
        if amount:
            valid = ([f"{amount[2]} >= 0"] if amount[2] else []) + list(amount[3:])
            count = f"{' && '.join(valid)} ? {amount[0]} : 0" if valid else amount[0]
            if "partitions" in self.names:
                count = f"{' && '.join(valid)} ? {amount[0]} * partitions : 0"
            members += [f".count = {count}", f".type = {amount[1]}"]
        return ", ".join(members)

    def noting(self):
        if not self.act_kind():
            return ""
        return ("\tif (hook_mpi_mode->noting) {\n"
                f"\t\tstruct hook_mpi_act act = {{{self.act()}}};\n\n"
                "\t\thook_mpi_mode->noting(t, &act);\n\t}\n")

    def noted(self):
        if not self.act_kind():
            return ""
        return "\tif (hook_mpi_mode->noted)\n\t\thook_mpi_mode->noted(t, rc);\n"

    def frees(self):
        return self.name in ("Comm_free", "Comm_disconnect")

    def makes(self):
        found = re.search(r"MPI_Comm \*(\w+)", self.params)
        return found.group(1) if found and not self.frees() else None

    def begin(self):
        peer = self.pick(PEERS, "HOOK_NO_PEER")
        tag = self.pick(TAGS, "HOOK_NO_TAG")
        return (f"\tt = hook_mpi_enter(CALL_{self.name}, __builtin_return_address(0));\n"
                + self.noting() +
                f"\thook_mpi_begin(t, {peer}, {tag}, {self.extras()});\n")


def read(path):
    with open(path, encoding="utf-8") as table:
        rows = [r for r in table.read().splitlines() if r and not r.startswith("#")]
    return [Call(i + 1, row) for i, row in enumerate(rows)]


def body(call):
    real = f"hook_mpi_real.{call.name}({call.args()})"
    if call.kind == "pass":
        # What is waited for later is no message that anybody counts.
        uncounted = "MPI_Request *" in call.params
        return ("\tint rc;\n\n"
                f"\tif (hook_depth)\n\t\treturn {real};\n"
                "\thook_depth++;\n"
                + ("\tif (hook_process.varied)\n\t\thook_slot->uncounted = 1;\n"
                   if uncounted else "") +
                f"\trc = {real};\n"
                "\thook_depth--;\n\treturn rc;\n")
    text = f"\tstruct hook_thread *t;\n\tint rc;\n\n\tif (!HOOK_LIKELY(hook_depth == 0))\n\t\treturn {real};\n"
    if call.kind == "mode":
        made = f"\trc = hook_mpi_mode->{call.mode_name()}({call.args('t')});\n"
        if call.name in HOT:
            quick = call.args('t').replace(" source,", "")
            made = ("\tif (HOOK_LIKELY(record_quick) && source == MPI_ANY_SOURCE)\n"
                    f"\t\trc = quick_record_{call.name}({quick});\n"
                    "\telse if (replay_quick && source == MPI_ANY_SOURCE)\n"
                    f"\t\trc = quick_replay_{call.name}({quick});\n"
                    "\telse if (HOOK_LIKELY(hook_mpi_mode == &hook_mpi_record))\n"
                    f"\t\trc = hook_mpi_record.{call.name}({call.args('t')});\n"
                    f"\telse\n\t{made}")
        return (text
                + f"\tt = hook_mpi_enter(CALL_{call.name}, __builtin_return_address(0));\n"
                + made + "\thook_mpi_leave(t);\n\treturn rc;\n")
    text += call.begin()
    if call.kind in ("send", "post"):
        text += "\tif (hook_mpi_mode->sending)\n\t\tcomm = hook_mpi_mode->sending(t, dest, comm);\n"
    if call.frees():
        text += "\tif (hook_mpi_mode->freeing)\n\t\thook_mpi_mode->freeing(t, *comm);\n"
    if call.kind == "refuse":
        text += f"\thook_mpi_mode->refuse(t);\n\trc = {real};\n"
    elif call.kind == "post":
        text += f"\thook_mpi_turn_take(t);\n\trc = {real};\n\thook_mpi_turn_pass(t);\n"
    elif call.kind == "send":
        suffix = "_c" if call.name.endswith("_c") else ""
        post = NONBLOCKING[call.mode_name()] + suffix
        text += ("\tif (hook_mpi_turns) {\n\t\tMPI_Request request;\n\n"
                 "\t\thook_mpi_turn_take(t);\n"
                 f"\t\trc = hook_mpi_real.{post}({call.args()}, &request);\n"
                 "\t\thook_mpi_turn_pass(t);\n"
                 "\t\tif (rc == MPI_SUCCESS)\n"
                 "\t\t\trc = hook_mpi_real.Wait(&request, MPI_STATUS_IGNORE);\n"
                 f"\t}} else {{\n\t\trc = {real};\n\t}}\n")
    else:
        text += f"\trc = {real};\n"
    if call.makes():
        parent = "comm" if "idup" in call.name else "MPI_COMM_NULL"
        text += ("\tif (rc == MPI_SUCCESS && hook_mpi_mode->made)\n"
                 f"\t\thook_mpi_mode->made(t, {parent}, *{call.makes()});\n")
    return text + call.noted() + "\thook_mpi_end(t);\n\thook_mpi_leave(t);\n\treturn rc;\n"


def light(call):
    """The wrapper of a hot call: recording, and no turns, takes a short way of its own."""
    finish = "\thook_mpi_end(t);\n\thook_mpi_leave(t);\n\treturn rc;\n"
    peer = call.pick(PEERS, "HOOK_NO_PEER")
    tag = call.pick(TAGS, "HOOK_NO_TAG")
    real = f"hook_mpi_real.{call.name}({call.args()})"
    enter = f"\tt = hook_mpi_enter(CALL_{call.name}, __builtin_return_address(0));\n"
    head = (f"\tstruct hook_thread *t;\n\tint rc;\n\n"
            f"\tif (!HOOK_LIKELY(hook_depth == 0))\n\t\treturn {real};\n")
    slow = body(call).replace(head, "\tint rc;\n\n").replace(enter, "")
    other = f"return full_{call.name}({call.args('t')})"
    if call.name in HOT:
        other = (f"return replay_quick && quick_replay_is_calm(t)"
                 f" ? quick_replay_{call.name}({call.args('t')})"
                 f" : full_{call.name}({call.args('t')})")
    return slow, (head + enter
                  + "\tif (!HOOK_LIKELY(hook_mpi_mode == &hook_mpi_record) || hook_mpi_turns)\n"
                  f"\t\t{other};\n"
                  f"\thook_mpi_begin(t, {peer}, {tag}, {call.extras()});\n"
                  f"\trc = {real};\n" + finish)


def wrappers(calls):
    out = ["/* Generated from calls.tbl by generate.py. */",
           '#include "hook/common/session.h"', '#include "hook/mpi/call/quick.h"', "",
           "struct hook_mpi_real hook_mpi_real;", "",
           "void hook_mpi_resolve_all(void *(*find)(const char *name))", "{"]
    for call in calls:
        out.append(f"\t*(void **)&hook_mpi_real.{call.name} = find(\"PMPI_{call.name}\");")
    out += ["}", ""]
    for call in calls:
        if call.kind in ("hand", "use"):
            continue
        text = body(call)
        if call.kind in ("send", "post"):
            full, text = light(call)
            out += [f"static __attribute__((noinline)) int full_{call.name}"
                    f"(struct hook_thread *t, {call.params})", "{", full + "}", ""]
        out += [f"HOOK_EXPORT {call.result} MPI_{call.name}({call.params})", "{",
                text + "}",
                f"HOOK_EXPORT {call.result} PMPI_{call.name}({call.params})"
                f" __attribute__((alias(\"MPI_{call.name}\")));", ""]
    return "\n".join(out)


def header(calls):
    out = ["/* Generated from calls.tbl by generate.py. */", "#ifndef HOOK_MPI_CALLS_H",
           "#define HOOK_MPI_CALLS_H", "", "enum hook_mpi_call {"]
    out += [f"\tCALL_{call.name} = {call.number}," for call in calls]
    out += ["};", "", "struct hook_mpi_real {"]
    out += [f"\t{call.result} (*{call.name})({call.params});" for call in calls]
    out += ["};", "", "/* The calls whose fate the mode decides. */", "#define HOOK_MPI_MODE_CALLS \\"]
    for call in calls:
        if call.kind == "mode" and not call.name.endswith("_c"):
            out.append(f"\t{call.result} (*{call.name})(struct hook_thread *t, "
                       f"{call.mode_params()}); \\")
    out += ["", "/* X(name, what it is, for large counts, parameters, arguments): collective operations. */"]
    for kind, posts in (("BLOCKING", False), ("POSTED", True)):
        out.append(f"#define HOOK_MPI_{kind}_FLOWS(X) \\")
        for call in calls:
            if call.flow() and ("request" in call.names) == posts:
                wide = "true" if call.name.endswith("_c") else "false"
                out.append(f"\tX({call.name}, {call.flow()}, {wide}, ({call.params}), "
                           f"({call.args()})) \\")
        out.append("")
    out += ["#endif", ""]
    return "\n".join(out)


def names(calls):
    out = ["/* Generated from calls.tbl by generate.py. */", '#include "trace/calls.h"', "",
           "static const char *const names[] = {"]
    out += [f"\t[{call.number}] = \"MPI_{call.name}\"," for call in calls]
    out += ["};", "", "const char *trace_call_name(uint32_t call)", "{",
            "\tif (call >= sizeof(names) / sizeof(names[0]) || !names[call])",
            "\t\treturn \"an unknown call\";", "\treturn names[call];", "}", ""]
    return "\n".join(out)


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    calls = read(sys.argv[1])
    if sys.argv[2] == "names":
        write(sys.argv[3], names(calls))
        return
    mine = [c for c in calls if c.flavour in ("both", sys.argv[2])]
    write(sys.argv[3], wrappers(mine))
    write(sys.argv[4], header(mine))


main()
