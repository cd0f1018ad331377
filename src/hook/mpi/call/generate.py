#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the MPI wrappers of one flavour, or the list of call names, from calls.tbl.

generate.py calls.tbl openmpi|mpich OUT.c OUT.h
generate.py calls.tbl names OUT.c
"""
import re
import sys

sys.dont_write_bytecode = True
from table import FLOWS, HOT, NEIGHBOURS, OPERATIONS, PEERS, TAGS, TOGETHER, WIDE, read

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
        return (text
                + f"\tt = hook_mpi_enter(CALL_{call.name}, __builtin_return_address(0));\n"
                + f"\t{{\n{call.decide()}\t}}\n\thook_mpi_leave(t);\n\treturn rc;\n")
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
        post = call.begun().name + ("_c" if call.large else "")
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
    """The wrapper of a call that sends: recording, and no turns, takes a short way of its own."""
    finish = "\thook_mpi_end(t);\n\thook_mpi_leave(t);\n\treturn rc;\n"
    peer = call.pick(PEERS, "HOOK_NO_PEER")
    tag = call.pick(TAGS, "HOOK_NO_TAG")
    real = f"hook_mpi_top.{call.name}({call.args()})"
    enter = f"\tt = hook_mpi_enter(CALL_{call.name}, __builtin_return_address(0));\n"
    head = "\tstruct hook_thread *t;\n\tint rc;\n\n" + inside(real)
    slow = body(call).replace(head, "\tint rc;\n\n").replace(enter, "")
    other = f"return full_{call.name}({call.args('t')})"
    return slow, (head + enter
                  + "\tif (!HOOK_LIKELY(hook_mpi_mode == &hook_mpi_record) || hook_mpi_turns)\n"
                  f"\t\t{other};\n"
                  f"\thook_mpi_begin(t, {peer}, {tag}, {call.extras()});\n"
                  f"\trc = {real};\n" + finish)


def hot(call):
    """A call with quick ways (quick.h), and what is jumped to where they do not fit. Nothing that needs
    the stack may stand here: the quick way would pay for it."""
    args = call.args()
    return (f"\tstruct hook_thread *t = hook_self;\n\n"
            f"\tif (quick_record_fits(t){HOT[call.name]})\n"
            f"\t\treturn quick_record_{call.name}({call.args('t', '__builtin_return_address(0)')});\n"
            f"\tif (replay_quick)\n\t\treturn quick_replay_{call.name}({args});\n"
            f"\treturn other_MPI_{call.name}({args});\n")


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
        large = [call for call in those if call.large]
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
        if call.name in HOT:
            out += [f"__attribute__((noinline)) {call.result} other_MPI_{call.name}({call.params})", "{", text + "}", ""]
            text = hot(call)
        out += [f"HOOK_EXPORT {call.result} MPI_{call.name}({call.params})", "{",
                text + "}",
                f"HOOK_EXPORT {call.result} PMPI_{call.name}({call.params})"
                f" __attribute__((alias(\"MPI_{call.name}\")));", ""]
    return "\n".join(out)


def layer(operation, calls):
    """For a layer: functions for all calls of an operation that hand its struct to one function, and
    the one that installs them."""
    out = [f"#define HOOK_MPI_LAYER_{operation.upper()}(layer) \\"]
    for call in calls:
        out.append(f"\tstatic int layer##_{call.name}({call.params}) "
                   f"{{ {call.fill()} return layer##_{operation}(&o); }} \\")
    out.append(f"\tstatic inline void layer##_install_{operation}(struct hook_mpi_calls *calls) \\\n\t{{ \\")
    out += [f"\t\tcalls->{call.name} = layer##_{call.name}; \\" for call in calls]
    return out + ["\t}", ""]


def header(calls, flavour):
    out = ["/* Generated from calls.tbl by generate.py. */", "#ifndef HOOK_MPI_CALLS_H",
           "#define HOOK_MPI_CALLS_H", "", *declare_handles(flavour), "enum hook_mpi_call {"]
    out += [f"\tCALL_{call.name} = {call.number}," for call in calls]
    out += ["};", "", "struct hook_mpi_calls {"]
    out += [f"\t{call.result} (*{call.name})({call.params});" for call in calls]
    out += ["};", ""]
    for operation in OPERATIONS:
        out += layer(operation, [call for call in calls if call.operation() == operation])
    out += ["", "/* X(name, what it is, for large counts, parameters, arguments): collective operations. */"]
    for group, names_of in (("FLOWS", FLOWS), ("GIVES", FLOWS + NEIGHBOURS)):
        for post in ("BLOCKING", "POSTED", "PREPARED"):
            out.append(f"#define HOOK_MPI_{post}_{group}(X) \\")
            out += [f"\tX({call.name}, {call.base}, {str(call.large).lower()}, ({call.params}), "
                    f"({call.args()})) \\" for call in calls if call.base in names_of and call.post == post]
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


if __name__ == "__main__":
    main()
