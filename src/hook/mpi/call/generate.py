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
# The same among neighbours: with FLOWS all that gives a rank something, see log/collective.h. Each also as
# a call that only prepares it.
NEIGHBOURS = ("Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv",
              "Neighbor_alltoallw")
# Operations as data: calls by name, and the struct of mpi.h that stands for each of them. A mode, and
# a layer below it, answers each operation by one function.
OPERATIONS = {
    "complete": ("hook_mpi_completion", r"(Wait|Test)(any|some|all)?|Request_get_status"),
    "receive": ("hook_mpi_receive", r"Recv|Irecv|Recv_init|Mrecv|Imrecv"),
    "send": ("hook_mpi_send", r"I?[srb]?send|[SRB]?send_init"),
    "exchange": ("hook_mpi_exchange", r"I?sendrecv(_replace)?"),
    "probe": ("hook_mpi_probe", r"I?m?probe"),
    "start": ("hook_mpi_start", r"Start(all)?"),
    "release": ("hook_mpi_release", r"Request_free|Cancel"),
}
# Operations that are events whatever becomes of them: what counts for the digest, and what is told of
# them (struct hook_mpi_act). Their wrappers begin and end the event. Probes and completions may be polls.
FRAMES = {
    "receive": ("o.source, o.tag, (uint64_t)o.count",
                ".peer = o.source, .tag = o.tag, .comm = o.comm, .request = o.request"),
    "exchange": ("o.source, o.recvtag, hook_mpi_exchange_digest(&o)",
                 ".peer = o.dest, .tag = o.sendtag, .want_peer = o.source, .want_tag = o.recvtag, "
                 ".count = o.dest >= 0 ? o.sendcount : 0, .type = o.sendtype, .comm = o.comm, "
                 ".request = o.request"),
    "start": ("HOOK_NO_PEER, HOOK_NO_TAG, hook_mpi_start_digest(&o)",
              ".count = o.count, .request = o.requests"),
    "release": ("HOOK_NO_PEER, HOOK_NO_TAG, 0", ".request = o.request"),
    "Test_cancelled": ("HOOK_NO_PEER, HOOK_NO_TAG, 0", None),
}
ACTS = {"Start": "START", "Startall": "START", "Request_free": "FREE", "Cancel": "CANCEL"}
# Members of the structs by the names of arguments; others have the same name.
COMPLETE_MEMBERS = {"request": "requests", "array_of_requests": "requests", "incount": "count",
                    "index": "indices", "array_of_indices": "indices", "status": "statuses",
                    "array_of_statuses": "statuses"}
MEMBERS = {
    "complete": COMPLETE_MEMBERS,
    "start": COMPLETE_MEMBERS,
    "receive": {"datatype": "type"},
    "send": {"datatype": "type"},
    "exchange": {"buf": "recvbuf sendbuf", "count": "recvcount sendcount", "comm": "comm recvcomm",
                 "datatype": "recvtype sendtype"},
}
# What a rank alone is not served with: files of MPI, partitions, sessions, names of services.
TOGETHER = (r"File_(open|delete)|P(send|recv)_init|(Intercomm|Comm)_create_from_groups?|"
            r"(Open|Close)_port|(Publish|Unpublish|Lookup)_name")
WIDE = {"receive": ["count"], "send": ["count"], "exchange": ["sendcount", "recvcount"]}
NONBLOCKING = {"Send": "Isend", "Ssend": "Issend", "Rsend": "Irsend", "Bsend": "Ibsend"}


# MPI's predefined handles. In Open MPI they are addresses of variables in its library: a library that
# is loaded into programs without MPI cannot refer to them, and one that is loaded before MPI would
# never get to know them. So they are looked up when MPI starts.
HANDLES = {
    "MPI_COMM_WORLD": ("MPI_Comm", "ompi_mpi_comm_world"),
    "MPI_COMM_SELF": ("MPI_Comm", "ompi_mpi_comm_self"),
    "MPI_COMM_NULL": ("MPI_Comm", "ompi_mpi_comm_null"),
    "MPI_REQUEST_NULL": ("MPI_Request", "ompi_request_null"),
    "MPI_MESSAGE_NULL": ("MPI_Message", "ompi_message_null"),
    "MPI_PACKED": ("MPI_Datatype", "ompi_mpi_packed"),
    "MPI_BYTE": ("MPI_Datatype", "ompi_mpi_byte"),
    "MPI_DATATYPE_NULL": ("MPI_Datatype", "ompi_mpi_datatype_null"),
    "MPI_UINT32_T": ("MPI_Datatype", "ompi_mpi_uint32_t"),
    "MPI_UINT64_T": ("MPI_Datatype", "ompi_mpi_uint64_t"),
    "MPI_SUM": ("MPI_Op", "ompi_mpi_op_sum"),
}


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

    def flow(self):
        """Which of FLOWS it is, or None."""
        name = self.mode_name()
        if "request" in self.names and name[0] == "I":
            name = name[1:].capitalize()
        return name if name in FLOWS else None

    def gives(self):
        """Which of FLOWS or NEIGHBOURS it is, and how it is posted; or None."""
        name, post = self.mode_name(), "BLOCKING"
        if "request" in self.names and name.endswith("_init"):
            name, post = name.removesuffix("_init"), "PREPARED"
        elif "request" in self.names and name[0] == "I":
            name, post = name[1:].capitalize(), "POSTED"
        return (name, post) if name in FLOWS + NEIGHBOURS else None

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
        if self.kind == "mode":
            kind = {"receive": "RECV", "exchange": "EXCHANGE"}.get(self.operation())
            post = {"HOOK_POSTED": "I{}", "HOOK_PREPARED": "{}_INIT"}.get(self.traits().get("post"), "{}")
            return post.format(kind) if kind else ACTS.get(name)
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
        if self.kind == "mode":
            return ", ".join(members + [FRAMES[self.operation()][1]])
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

    def operation(self):
        """Which of OPERATIONS it is, or None."""
        for operation, (_, pattern) in OPERATIONS.items():
            if re.fullmatch(pattern, self.mode_name(), re.I if operation != "complete" else 0):
                return operation
        return None

    def traits(self):
        """What tells it from other calls of its operation: members of the struct, their values."""
        name, operation = self.mode_name(), self.operation()
        how = re.search(r"(any|some|all)$", name)
        post = ("PREPARED" if name.endswith("_init") else
                "POSTED" if name[0] == "I" else "BLOCKING")
        traits = {"post": f"HOOK_{post}"} if operation in WIDE else {}
        if operation == "complete":
            traits = {"how": f"HOOK_{how.group(1).upper() if how else 'ONE'}",
                      "poll": "Test" in name or "_get_" in name, "keep": "_get_" in name}
        elif operation == "send":
            traits["mode"] = f"HOOK_SEND_{re.sub('^I|send.*', '', name, flags=re.I).upper() or 'PLAIN'}"
        elif operation == "exchange":
            traits["replace"] = "replace" in name
        elif operation == "probe":
            traits = {"poll": name[0] == "I"}
        elif operation == "start":
            traits = {"all": bool(how)}
        elif operation == "release":
            traits = {"cancel": name == "Cancel"}
        return {m: v if isinstance(v, str) else str(v).lower() for m, v in traits.items()}

    def members(self):
        """Its arguments, how the struct refers to them, and the members they are in."""
        operation = self.operation()
        params = dict(zip(self.names, self.params.split(",")))
        for name in self.names:
            by_value = name == "request" and "*" not in params[name]
            yield name, by_value, MEMBERS.get(operation, {}).get(name, name).split()

    def fill(self, wanted=False):
        """The struct of its operation, from its arguments; a mode wants all statuses of messages."""
        members = [f".{m} = {v}" for m, v in self.traits().items() if v != "false"]
        if self.operation() in ("complete", "start") and not {"count", "incount"} & set(self.names):
            members.append(".count = 1")
        for name, by_value, there in self.members():
            members += [f".{m} = {'&' if by_value else ''}{name}" for m in there]
        if wanted and ".status = status" in members:
            members[members.index(".status = status")] = ".status = hook_mpi_wanted(status, &ignored)"
        return f"struct {OPERATIONS[self.operation()][0]} o = {{{', '.join(members)}}};"

    def perform(self):
        """The call that the struct `o` stands for, and when it does."""
        wide = WIDE.get(self.operation(), [])
        found = [f"o->{m} == {v}" for m, v in self.traits().items()]
        if self.operation() in ("receive", "probe"):
            found.append("o->message" if "message" in self.names else "!o->message")
        args = []
        for _, by_value, there in self.members():
            cast = "(int)" if there[0] in wide and not self.name.endswith("_c") else ""
            args.append(f"{cast}{'*' if by_value else ''}o->{there[0]}")
        return f"\tif ({' && '.join(found)})\n\t\treturn mpi->{self.name}({', '.join(args)});"

    def noting(self):
        if not self.act_kind():
            return ""
        return ("\tif (hook_mpi_mode->noting) {\n"
                f"\t\tstruct hook_mpi_act act = {{{self.act()}}};\n\n"
                "\t\thook_mpi_mode->noting(t, &act);\n\t}\n")

    def noted(self):
        if not self.act_kind():
            return ""
        status = "o.status" if self.operation() in ("receive", "exchange") and self.kind == "mode" else "NULL"
        return f"\tif (hook_mpi_mode->noted)\n\t\thook_mpi_mode->noted(t, rc, {status});\n"

    def decide(self):
        """The call as the mode makes it."""
        mode = f"hook_mpi_mode->{self.mode_name()}({self.args('t')})"
        text = ""
        if self.operation():
            mode = f"hook_mpi_mode->{self.operation()}(t, &o)"
            text = ("\tMPI_Status ignored;\n" if "hook_mpi_wanted" in self.fill(True) else "")
            text += f"\t{self.fill(True)}\n\n"
        if self.name in HOT:
            mode = ("HOOK_LIKELY(hook_mpi_mode == &hook_mpi_record)\n"
                    f"\t\t? hook_mpi_record.{self.operation()}(t, &o) : {mode}")
        frame = FRAMES.get(self.operation() or self.name)
        if not frame:
            return f"{text}\trc = {mode};\n"
        return (text + self.noting() + f"\thook_mpi_begin(t, {frame[0]});\n\trc = {mode};\n"
                + self.noted() + "\thook_mpi_end(t);\n")

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


def inside(real):
    """A call from inside another one goes straight to MPI."""
    return ("\tif (!HOOK_LIKELY(hook_depth == 0) && !hook_mpi_left(__builtin_frame_address(0)))\n"
            f"\t\treturn {real};\n")


def body(call):
    real = f"hook_mpi_top.{call.name}({call.args()})"
    if call.kind == "pass":
        # What is waited for later is no message that anybody counts.
        uncounted = "MPI_Request *" in call.params
        return ("\tint rc;\n\n"
                + inside(real) +
                "\thook_depth++;\n"
                "\thook_mpi_frame = (uintptr_t)__builtin_frame_address(0) | HOOK_MPI_PASSED;\n"
                + ("\tif (hook_process.explore.on)\n\t\thook_slot->uncounted = 1;\n"
                   if uncounted else "") +
                f"\trc = {real};\n"
                "\thook_mpi_frame = 0;\n\thook_depth--;\n\treturn rc;\n")
    text = "\tstruct hook_thread *t;\n\tint rc;\n\n" + inside(real)
    if call.kind == "mode":
        decide = f"\t{{\n{call.decide()}\t}}\n"
        if call.name in HOT:
            quick = call.args('t').replace(" source,", "")
            decide = ("\tif (HOOK_LIKELY(record_quick) && source == MPI_ANY_SOURCE) {\n"
                      f"\t\trc = quick_record_{call.name}({quick});\n"
                      "\t} else if (replay_quick && source == MPI_ANY_SOURCE &&\n"
                      "\t\t   HOOK_LIKELY(quick_replay_is_source_next(t, comm))) {\n"
                      f"\t\trc = quick_replay_{call.name}({quick});\n"
                      f"\t}} else {{\n{call.decide()}\t}}\n")
        return (text
                + f"\tt = hook_mpi_enter(CALL_{call.name}, __builtin_return_address(0));\n"
                + decide + "\thook_mpi_leave(t);\n\treturn rc;\n")
    text += call.begin()
    if call.kind in ("send", "post"):
        text += "\tif (hook_mpi_mode->sending)\n\t\thook_mpi_mode->sending(t, dest, comm);\n"
    if call.frees():
        text += "\tif (hook_mpi_mode->comm_freeing)\n\t\thook_mpi_mode->comm_freeing(t, *comm);\n"
    if call.kind == "refuse":
        text += f"\thook_mpi_mode->refuse(t);\n\trc = {real};\n"
    elif call.kind == "post":
        text += f"\thook_mpi_turn_take(t);\n\trc = {real};\n\thook_mpi_turn_pass(t);\n"
    elif call.kind == "send":
        suffix = "_c" if call.name.endswith("_c") else ""
        post = NONBLOCKING[call.mode_name()] + suffix
        text += ("\tif (hook_mpi_turns) {\n\t\tMPI_Request request;\n\n"
                 "\t\thook_mpi_turn_take(t);\n"
                 f"\t\trc = hook_mpi_top.{post}({call.args()}, &request);\n"
                 "\t\thook_mpi_turn_pass(t);\n"
                 "\t\tif (rc == MPI_SUCCESS)\n"
                 "\t\t\trc = hook_mpi_top.Wait(&request, MPI_STATUS_IGNORE);\n"
                 f"\t}} else {{\n\t\trc = {real};\n\t}}\n")
    else:
        text += f"\trc = {real};\n"
    if call.makes():
        parent = "comm" if "idup" in call.name else "MPI_COMM_NULL"
        text += ("\tif (rc == MPI_SUCCESS && hook_mpi_mode->comm_created)\n"
                 f"\t\thook_mpi_mode->comm_created(t, {parent}, *{call.makes()});\n")
    return text + call.noted() + "\thook_mpi_end(t);\n\thook_mpi_leave(t);\n\treturn rc;\n"


def light(call):
    """The wrapper of a hot call: recording, and no turns, takes a short way of its own."""
    finish = "\thook_mpi_end(t);\n\thook_mpi_leave(t);\n\treturn rc;\n"
    peer = call.pick(PEERS, "HOOK_NO_PEER")
    tag = call.pick(TAGS, "HOOK_NO_TAG")
    real = f"hook_mpi_top.{call.name}({call.args()})"
    enter = f"\tt = hook_mpi_enter(CALL_{call.name}, __builtin_return_address(0));\n"
    head = "\tstruct hook_thread *t;\n\tint rc;\n\n" + inside(real)
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


def resolve_handles(flavour):
    handles = HANDLES if flavour == "openmpi" else {}
    out = [f"void *hook_handle_{name};" for name in handles]
    out += ["", "void hook_mpi_resolve_handles(void *(*find)(const char *name))", "{", "\t(void)find;"]
    out += [f"\thook_handle_{name} = find(\"{there}\");" for name, (_, there) in handles.items()]
    return out + ["}", ""]


def declare_handles(flavour):
    out = []
    for name, (mpi_type, _) in HANDLES.items() if flavour == "openmpi" else []:
        out += [f"#undef {name}", f"#define {name} (({mpi_type})hook_handle_{name})",
                f"extern void *hook_handle_{name};"]
    return out + [""]


def wrappers(calls, flavour):
    out = ["/* Generated from calls.tbl by generate.py. */",
           '#include "hook/session/session.h"', '#include "hook/mpi/quick/quick.h"', "",
           "struct hook_mpi_calls hook_mpi_real, hook_mpi_top;", "",
           *resolve_handles(flavour),
           "void hook_mpi_resolve_all(void *(*find)(const char *name))", "{"]
    for call in calls:
        out.append(f"\t*(void **)&hook_mpi_real.{call.name} = find(\"PMPI_{call.name}\");")
    out += ["\thook_mpi_top = hook_mpi_real;", "}", ""]
    for operation, (struct, _) in OPERATIONS.items():
        those = [call for call in calls if call.operation() == operation]
        out += [f"int hook_mpi_{operation}(const struct hook_mpi_calls *mpi, const struct {struct} *o)",
                "{"]
        large = [call for call in those if call.name.endswith("_c")]
        if large:
            fits = " && ".join(f"o->{count} == (int)o->{count}" for count in WIDE[operation])
            out += [f"\tif (!HOOK_LIKELY({fits})) {{"] + [c.perform() for c in large] + ["\t}"]
        out += [call.perform() for call in those if call not in large]
        out += ["\treturn MPI_ERR_INTERN;", "}", ""]
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


def layer(operation, calls):
    """For a layer: functions for all calls of an operation that hand its struct to one function."""
    out = [f"#define HOOK_MPI_LAYER_{operation.upper()}(layer, answer) \\"]
    for call in calls:
        out.append(f"\tstatic int layer##_{call.name}({call.params}) "
                   f"{{ {call.fill()} return answer(&o); }} \\")
    out += ["", f"#define HOOK_MPI_INSTALL_{operation.upper()}(layer, calls) \\"]
    out += [f"\t(calls)->{call.name} = layer##_{call.name}; \\" for call in calls]
    return out + [""]


def header(calls, flavour):
    out = ["/* Generated from calls.tbl by generate.py. */", "#ifndef HOOK_MPI_CALLS_H",
           "#define HOOK_MPI_CALLS_H", "", *declare_handles(flavour), "enum hook_mpi_call {"]
    out += [f"\tCALL_{call.name} = {call.number}," for call in calls]
    out += ["};", "", "struct hook_mpi_calls {"]
    out += [f"\t{call.result} (*{call.name})({call.params});" for call in calls]
    out += ["};", "", "/* The calls whose fate the mode decides. */", "#define HOOK_MPI_MODE_CALLS \\"]
    for call in calls:
        if call.kind == "mode" and not call.operation():
            out.append(f"\t{call.result} (*{call.name})(struct hook_thread *t, "
                       f"{call.params}); \\")
    out += [""]
    for operation in OPERATIONS:
        out += layer(operation, [call for call in calls if call.operation() == operation])
    out += ["", "/* X(name, what it is, for large counts, parameters, arguments): collective operations. */"]
    for kind, posts in (("BLOCKING", False), ("POSTED", True)):
        out.append(f"#define HOOK_MPI_{kind}_FLOWS(X) \\")
        for call in calls:
            if call.flow() and ("request" in call.names) == posts:
                wide = "true" if call.name.endswith("_c") else "false"
                out.append(f"\tX({call.name}, {call.flow()}, {wide}, ({call.params}), "
                           f"({call.args()})) \\")
        out.append("")
    out += ["/* X(name, what it is, for large counts, parameters, arguments): what gives a rank something. */"]
    for post in ("BLOCKING", "POSTED", "PREPARED"):
        out.append(f"#define HOOK_MPI_{post}_GIVES(X) \\")
        for call in calls:
            if call.gives() and call.gives()[1] == post:
                wide = "true" if call.name.endswith("_c") else "false"
                out.append(f"\tX({call.name}, {call.gives()[0]}, {wide}, ({call.params}), "
                           f"({call.args()})) \\")
        out.append("")
    out += ["/* X(name, parent, created, parameters, arguments): constructors of communicators. */"]
    for kind, chosen in (("COPIES", "dup"), ("MAKES", None)):
        for posts in (False, True):
            out.append(f"#define HOOK_MPI_{kind}{'_POSTED' if posts else ''}(X) \\")
            for call in calls:
                parent, created = call.of_type("MPI_Comm"), call.makes()
                if (call.kind == "event" and parent and created and ("dup" in call.name) == bool(chosen)
                        and ("request" in call.names) == posts):
                    out.append(f"\tX({call.name}, {parent}, {created}, ({call.params}), "
                               f"({call.args()})) \\")
            out.append("")
    out += ["/* X(name, parameters, arguments): calls that a rank alone cannot make. */",
            "#define HOOK_MPI_TOGETHER(X) \\"]
    for call in calls:
        if call.kind in ("pass", "event") and re.fullmatch(TOGETHER, call.mode_name()):
            out.append(f"\tX({call.name}, ({call.params}), ({call.args()})) \\")
    out += ["", "#endif", ""]
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
    write(sys.argv[3], wrappers(mine, sys.argv[2]))
    write(sys.argv[4], header(mine, sys.argv[2]))


main()
