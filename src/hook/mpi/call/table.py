# SPDX-License-Identifier: Apache-2.0
"""The calls of calls.tbl, and what each of them is."""
import copy
import re
import sys

PEERS = ("dest", "source", "root")
TAGS = ("tag", "sendtag")
EXTRAS = ("count", "sendcount", "recvcount", "incount", "recvtag", "color", "key")
# Calls that are events but no communication.
SILENT = ("Pready", "Pready_list", "Pready_range", "Buffer_detach")
BY_MEMBERS = ("Comm_create_group", "Intercomm_create")
# Calls that have quick ways of their own, in quick.h, and what must hold for that of recording.
HOT = {"Recv": " && source == MPI_ANY_SOURCE && status != MPI_STATUS_IGNORE", "Send": ""}
# Collective operations by which a rank learns of others: stamp/collective.c.
FLOWS = ("Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv",
         "Alltoall", "Alltoallv", "Alltoallw", "Allreduce", "Reduce", "Reduce_scatter",
         "Reduce_scatter_block", "Scan", "Exscan")
# The same among neighbours: with FLOWS all that gives a rank something, see log/collective.h.
NEIGHBOURS = ("Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv",
              "Neighbor_alltoallw")
# Operations as data: calls by name, and the struct of mpi.h that stands for each of them. A mode, and
# a layer below it, answers each operation by one function.
OPERATIONS = {
    "complete": ("hook_mpi_completion", r"(Wait|Test)(any|some|all)?|Request_get_status|Parrived"),
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
    "receive": ("o.source, o.tag, trace_digest_receive((uint64_t)o.count)",
                ".peer = o.source, .tag = o.tag, .comm = o.comm, .request = o.request"),
    "exchange": ("o.receive.source, o.receive.tag, "
                 "trace_digest_exchange((uint64_t)o.receive.count, (uint64_t)o.send.dest)",
                 ".peer = o.send.dest, .tag = o.send.tag, .want_peer = o.receive.source, "
                 ".want_tag = o.receive.tag, .count = o.send.dest >= 0 ? o.send.count : 0, "
                 ".type = o.send.type, .comm = o.send.comm, .request = o.receive.request"),
    "start": ("HOOK_NO_PEER, HOOK_NO_TAG, trace_digest_requests(o.all, (uint64_t)o.count)",
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
    "exchange": {"buf": "receive.buf send.buf", "count": "receive.count send.count",
                 "datatype": "receive.type send.type", "comm": "send.comm receive.comm",
                 "sendbuf": "send.buf", "sendcount": "send.count", "sendtype": "send.type",
                 "dest": "send.dest", "sendtag": "send.tag", "recvbuf": "receive.buf",
                 "recvcount": "receive.count", "recvtype": "receive.type", "source": "receive.source",
                 "recvtag": "receive.tag", "request": "receive.request", "status": "receive.status"},
}
# What a rank alone is not served with: files of MPI, partitions, sessions, names of services.
TOGETHER = (r"File_(open|delete)|P(send|recv)_init|(Intercomm|Comm)_create_from_groups?|"
            r"(Open|Close)_port|(Publish|Unpublish|Lookup)_name")
WIDE = {"receive": ["count"], "send": ["count"], "exchange": ["send.count", "receive.count"]}
# Arguments that are neither counts nor sizes: a call for large counts has them as they are.
SAME = (*PEERS, *TAGS, "recvtag", "target_rank", "target_disp", "ndims", "order")


class Call:
    """One call; `base` and `post` tell which one it is made of, and how."""
    def __init__(self, kind, flavour, result, base, params):
        self.kind, self.flavour, self.result, self.params = kind, flavour, result, params
        self.number = None
        self.name = self.base = base
        self.post = "BLOCKING"
        self.large = False

    @property
    def by_name(self):
        """Its parameters as they are declared."""
        declared = [p.strip() for p in self.params.split(",") if p != "void"]
        return {re.search(r"(\w+)(\[\w*\])*$", p).group(1): p for p in declared}

    @property
    def names(self):
        return list(self.by_name)

    def begun(self):
        """The call that only begins it: it gives a request in the place of a status."""
        call = copy.copy(self)
        call.kind = "post" if self.kind == "send" else self.kind
        prefix, name = re.fullmatch(r"(File_)?(.*)", self.base).groups("")
        letter = "i" if prefix else "R" if "MPI_Win win" in self.params else "I"
        call.name, call.post = prefix + letter + name[0].lower() + name[1:], "POSTED"
        call.params = self.params.removesuffix(", MPI_Status *status") + ", MPI_Request *request"
        return call

    def prepared(self):
        """The call that only prepares it, of MPI 4."""
        call = copy.copy(self)
        call.flavour = "mpich"
        call.name, call.post = self.base + "_init", "PREPARED"
        call.params += ", MPI_Info info, MPI_Request *request"
        return call

    def for_large_counts(self):
        """The same with counts, sizes and places of MPI 4."""
        def widen(param):
            _, star, name = param.groups()
            wide = "MPI_Aint" if name.endswith("displs") else "MPI_Count"
            return param.group() if name in SAME else f"{wide} {star}{name}"
        call = copy.copy(self)
        call.flavour, call.large = "mpich", True
        call.name += "_c"
        call.params = re.sub(r"\b(int|MPI_Aint) (\*?)(\w+)", widen, self.params)
        return call

    def args(self, *first):
        return ", ".join(list(first) + self.names)

    def mode_name(self):
        return self.name.removesuffix("_c")

    def pick(self, names, default):
        found = [n for n in names if n in self.names]
        return found[0] if found else default

    def extras(self):
        terms = [f"trace_digest_argument({i}, (uint64_t){name})"
                 for i, name in enumerate(n for n in EXTRAS if n in self.names)
                 if not re.search(r"[\[*]", self.by_name[name])]
        return " + ".join(terms) or "0"

    def of_type(self, mpi_type):
        """The first argument of exactly this type, such as "MPI_Comm" or "MPI_Comm *"."""
        found = [name for name, param in self.by_name.items()
                 if re.fullmatch(rf"{re.escape(mpi_type)}\s*{name}", param)]
        return found[0] if found else None

    def act_kind(self):
        """What the call does (enum hook_mpi_act_kind without HOOK_ACT_), or None."""
        name = self.mode_name()
        if self.kind == "mode":
            kind = {"receive": "RECV", "exchange": "EXCHANGE"}.get(self.operation())
            posts = {"POSTED": "I{}", "PREPARED": "{}_INIT"}
            post = posts.get(self.posting(), "{}")
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
        if self.post == "PREPARED":
            return "COLL_INIT"
        if name.endswith("_init"):
            return "RECV_INIT" if name == "Precv_init" else "SEND_INIT"
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

    def posting(self):
        """Whether it gives a request, and what for (enum hook_mpi_post without HOOK_)."""
        name = self.mode_name()
        return "PREPARED" if name.endswith("_init") else "POSTED" if name[0] == "I" else "BLOCKING"

    def traits(self):
        """What tells it from other calls of its operation: members of the struct, their values."""
        name, operation = self.mode_name(), self.operation()
        how = re.search(r"(any|some|all)$", name)
        traits = {"post": f"HOOK_{self.posting()}"} if operation in WIDE else {}
        if operation == "complete":
            keeps = name in ("Request_get_status", "Parrived")
            ways = "PART" if name == "Parrived" else how.group(1).upper() if how else "ONE"
            traits = {"how": f"HOOK_{ways}", "poll": "Test" in name or keeps, "keep": keeps}
        elif operation == "send":
            traits["mode"] = f"HOOK_SEND_{re.sub('^I|send.*', '', name, flags=re.I).upper() or 'PLAIN'}"
        elif operation == "exchange":
            traits = {"receive.post": traits["post"], "replace": "replace" in name}
        elif operation == "probe":
            traits = {"poll": name[0] == "I"}
        elif operation == "start":
            traits = {"all": bool(how)}
        elif operation == "release":
            traits = {"cancel": name == "Cancel"}
        return {m: v if isinstance(v, str) else str(v).lower() for m, v in traits.items()}

    def members(self):
        """Its arguments, how the struct refers to them, and the members they are in."""
        for name, param in self.by_name.items():
            by_value = name == "request" and "*" not in param
            yield name, by_value, MEMBERS.get(self.operation(), {}).get(name, name).split()

    def fill(self, wanted=False):
        """The struct of its operation, from its arguments; a mode wants all statuses of messages."""
        members = [f".{m} = {v}" for m, v in self.traits().items() if v != "false"]
        if self.operation() in ("complete", "start") and not {"count", "incount"} & set(self.names):
            members.append(".count = 1")
        for name, by_value, there in self.members():
            members += [f".{m} = {'&' if by_value else ''}{name}" for m in there]
        if wanted and self.operation() != "complete":
            members = [m.replace(" = status", " = hook_mpi_wanted(status, &ignored)") for m in members]
        return f"struct {OPERATIONS[self.operation()][0]} o = {{{', '.join(members)}}};"

    def perform(self):
        """The call that the struct `o` stands for, and when it does."""
        wide = WIDE.get(self.operation(), [])
        found = [f"o->{m} == {v}" for m, v in self.traits().items()]
        if self.operation() in ("receive", "probe"):
            found.append("o->message" if "message" in self.names else "!o->message")
        args = []
        for _, by_value, there in self.members():
            cast = "(int)" if there[0] in wide and not self.large else ""
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
        status = {"receive": "o.status", "exchange": "o.receive.status"}.get(self.operation(), "NULL")
        status = status if self.kind == "mode" else "NULL"
        return f"\tif (hook_mpi_mode->noted)\n\t\thook_mpi_mode->noted(t, rc, {status});\n"

    def decide(self):
        """The call as the mode makes it."""
        mode = f"hook_mpi_mode->{self.mode_name()}({self.args('t')})"
        text = ""
        if self.operation():
            mode = f"hook_mpi_mode->{self.operation()}(t, &o)"
            text = ("\tMPI_Status ignored;\n" if "hook_mpi_wanted" in self.fill(True) else "")
            text += f"\t{self.fill(True)}\n\n"
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
    """All calls, by number."""
    calls = []
    with open(path, encoding="utf-8") as table:
        rows = [r for r in table.read().splitlines() if r and not r.startswith("#")]
    for row in rows:
        match = re.fullmatch(r"(\w+)\t(\w+)\t([\d/ ]+)\t(\w+) (\w+)\((.*)\)", row)
        if not match:
            sys.exit(f"calls.tbl: not a call: {row}")
        kind, flavour, numbers, *prototype = match.groups()
        plain = Call(kind, flavour, *prototype)
        for call, pair in zip((plain, plain.begun(), plain.prepared()), numbers.split()):
            for one, number in zip((call, call.for_large_counts()), pair.split("/")):
                one.number = int(number)
                calls.append(one)
    calls.sort(key=lambda call: call.number)
    for expected, call in enumerate(calls, 1):
        if call.number != expected:
            sys.exit(f"calls.tbl: MPI_{call.name} has the number {call.number}, not {expected}")
    return calls
