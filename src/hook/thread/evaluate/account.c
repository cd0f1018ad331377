/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread keeps an account of its operations by object, and by call and stack, in memory of its
 * own, and writes it when it has done all that was recorded (trace/objects.h). The thread that says
 * the last word of the process writes the accounts of all, because a thread may wait for something
 * that the recording does not have. Invariant: the lock of an account is held while it is changed
 * or written.
 */
#include "hook/thread/evaluate/account.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/kit/proc.h"
#include "hook/kit/table.h"
#include "hook/thread/evaluate/origin.h"
#include "hook/thread/evaluate/stacks.h"
#include "hook/thread/life/stuck.h"
#include "hook/thread/stdio/stdio.h"
#include "hook/thread/sync/objects.h"
#include "trace/objects.h"

#define PATIENCE 100000 /* rounds for the lock of a thread that may never let go */

struct use {
	struct hook_entry entry; /* found by its object alone */
	uint32_t next;           /* of the same object, an index */
	uint32_t op;
	uint32_t site;
	uint64_t count, handed, failed, predicted, bytes;
};

struct object {
	struct hook_entry entry; /* by id */
	const void *address;
	const char *name;
	uint32_t made;
	uint32_t version; /* when it was first taken */
	uint32_t first_site;
	uint32_t seen; /* the version taken last */
	uint32_t uses; /* the first of them, an index */
};

struct hook_account {
	struct hook_lock locked;
	bool changed;
	bool op[SYNC_OPS];
	struct hook_table objects, uses;
	struct trace_stream stream;
};

static void *must(void *p)
{
	if (!p)
		hook_failed(hook_thread_self(), "out of memory for objects");
	return p;
}

static struct hook_account *account_of(struct hook_thread *t)
{
	struct hook_account *a = t->evaluate.account;

	if (a)
		return a;
	a = must(hook_pages(sizeof(*a)));
	a->objects.bytes = a->objects.clear = sizeof(struct object);
	a->uses.bytes = a->uses.clear = sizeof(struct use);
	t->evaluate.account = a;
	return a;
}

static bool is_of_threads(enum hook_sync_op op)
{
	return op >= SYNC_CREATE && op <= SYNC_CLOCKJOIN;
}

static struct object *object_of(struct hook_account *a, const struct hook_sync_call *c, uint64_t id,
				uint32_t site)
{
	struct object *o = hook_table_find(&a->objects, id);

	if (o)
		return o;
	o = must(hook_table_new(&a->objects));
	hook_table_insert(&a->objects, o, id);
	o->first_site = site;
	if (is_of_threads(c->op))
		return o;
	o->address = c->object;
	o->made = hook_origin_site(c->object);
	o->name = hook_stdio_name(c->object);
	return o;
}

/* The one that was used last comes first. */
static struct use *use_of(struct hook_account *a, struct object *o, uint32_t op, uint32_t site)
{
	uint32_t *before = &o->uses, at;
	struct use *u = NULL;

	for (; (at = *before); before = &u->next) {
		u = hook_table_at(&a->uses, at);
		if (u->op == op && u->site == site)
			break;
	}
	if (at) {
		*before = u->next;
	} else {
		u = must(hook_table_new(&a->uses));
		u->op = op;
		u->site = site;
		at = u->entry.index;
		a->op[op] = true;
	}
	u->next = o->uses;
	o->uses = at;
	return u;
}

/*
 * Operations without an object of their own have an id that stands for the operation; what they
 * are on still has an address. What has no id has never been taken.
 */
static uint64_t id_of(const struct hook_sync_call *c, uint64_t id)
{
	uint64_t address = (uintptr_t)c->object;

	if (is_of_threads(c->op))
		return trace_sync_op_id(SYNC_CREATE);
	if (c->op == SYNC_SEM_GETVALUE)
		id = __atomic_load_n(hook_sync_spot(c).id, __ATOMIC_ACQUIRE);
	else if (id == trace_sync_op_id(c->op))
		id ^= address;
	return id ? id : address;
}

void hook_account_note(struct hook_thread *t, const struct hook_sync_call *c, uint64_t id,
		       const struct trace_sync_outcome *out, int bytes)
{
	uint32_t site = hook_stacks_site(hook_stacks_of(t), c->site);
	struct hook_account *a = account_of(t);
	struct object *o;
	struct use *u;

	hook_lock_take(&a->locked);
	o = object_of(a, c, id_of(c, out->nameless ? 0 : id), site);
	u = use_of(a, o, c->op, site);
	u->count++;
	u->bytes += bytes < 0 ? 0 : (uint64_t)bytes;
	u->predicted += bytes < 0;
	u->failed += hook_sync_class(c->op) == TRACE_SYNC_TRY && !out->takes;
	if (out->takes) {
		u->handed += out->version != o->seen + 1;
		o->seen = out->version;
		if (!o->version)
			o->version = out->version;
	}
	a->changed = true;
	hook_lock_give(&a->locked);
}

static const char *kind_of(enum hook_sync_op op)
{
	static const char *const of_libc[] = {
		[SYNC_RANDOM - SYNC_LIBC_FIRST] = "random numbers",
		[SYNC_SETTINGS - SYNC_LIBC_FIRST] = "settings",
		[SYNC_TOKEN - SYNC_LIBC_FIRST] = "strtok",
		[SYNC_LOG - SYNC_LIBC_FIRST] = "log",
		[SYNC_AT_EXIT - SYNC_LIBC_FIRST] = "exit functions",
	};

	if (op == SYNC_MEMORY)
		return "memory";
	if (op >= SYNC_LIBC_FIRST && op <= SYNC_LIBC_LAST)
		return of_libc[op - SYNC_LIBC_FIRST];
	if (op <= SYNC_COND_CLOCKWAIT)
		return "mutex";
	if (op <= SYNC_SPIN_TRYLOCK)
		return "spin lock";
	if (op <= SYNC_CLOCKWRLOCK)
		return "read-write lock";
	if (op <= SYNC_SEM_GETVALUE)
		return "semaphore";
	if (op == SYNC_BARRIER_WAIT)
		return "barrier";
	if (op == SYNC_ONCE)
		return "once";
	if (is_of_threads(op))
		return "threads";
	if (op == SYNC_IO)
		return "descriptors";
	if (op <= SYNC_GOMP_TASK)
		return "OpenMP";
	if (op <= SYNC_GOMP_ATOMIC)
		return "critical section";
	if (op <= SYNC_OMP_NEST_TEST)
		return "OpenMP lock";
	return op >= SYNC_BATON ? "serial mode" : "stream";
}

/* What the kernel calls it: only here is a name that it was given. */
static void read_name(const struct hook_thread *t, char name[TRACE_OBJECTS_TEXT])
{
	size_t n = hook_proc_of_thread(t->kernel_tid, "comm", name, TRACE_OBJECTS_TEXT);

	name[n ? n - 1 : 0] = 0;
}

static int put_head(struct hook_account *a, const struct hook_thread *t)
{
	struct trace_objects_rec rec = {
		.kind = TRACE_OBJECTS_BEGIN,
		.begin = {.start = (uintptr_t)t->life.start, .ops = t->replay.sync_reader.ops}};
	int rc;

	read_name(t, rec.text[0]);
	rc = trace_objects_put(&a->stream, &rec);
	for (uint32_t op = 0; op < SYNC_OPS && !rc; op++) {
		if (!a->op[op])
			continue;
		rec = (struct trace_objects_rec){.kind = TRACE_OBJECTS_OP, .op.number = op};
		strncpy(rec.text[0], op == SYNC_STREAM ? "stdio call" : hook_sync_name(op),
			TRACE_OBJECTS_TEXT - 1);
		strncpy(rec.text[1], kind_of(op), TRACE_OBJECTS_TEXT - 1);
		rc = trace_objects_put(&a->stream, &rec);
	}
	return rc;
}

static int put_object(struct hook_account *a, const struct object *o)
{
	struct trace_objects_rec rec = {.kind = TRACE_OBJECTS_OBJECT,
					.object = {.id = o->entry.key,
						   .address = (uintptr_t)o->address,
						   .made = o->made,
						   .version = o->version,
						   .first_site = o->first_site}};
	int rc;

	if (o->name)
		strncpy(rec.text[0], o->name, TRACE_OBJECTS_TEXT - 1);
	rc = trace_objects_put(&a->stream, &rec);
	for (const struct use *u = hook_table_at(&a->uses, o->uses); u && !rc;
	     u = hook_table_at(&a->uses, u->next)) {
		rec = (struct trace_objects_rec){.kind = TRACE_OBJECTS_USE,
						 .use = {.op = u->op,
							 .site = u->site,
							 .count = u->count,
							 .handed = u->handed,
							 .failed = u->failed,
							 .predicted = u->predicted,
							 .bytes = u->bytes}};
		rc = trace_objects_put(&a->stream, &rec);
	}
	return rc;
}

static int put_account(struct hook_account *a, const struct hook_thread *t)
{
	struct trace_objects_rec end = {.kind = TRACE_OBJECTS_END};
	char name[TRACE_NAME_BYTES + 16];
	int rc = 0;

	if (!a->stream.header) {
		hook_stream_name(t, "objects", name, sizeof(name));
		rc = trace_stream_create(&a->stream, hook_evaluate_directory(), name,
					 TRACE_STREAM_OBJECTS, hook_process.rank,
					 hook_process.process, t->name);
	}
	if (!rc)
		rc = put_head(a, t);
	for (uint32_t i = 1; i <= a->objects.used && !rc; i++)
		rc = put_object(a, hook_table_at(&a->objects, i));
	return rc ? rc : trace_objects_put(&a->stream, &end);
}

static bool take(struct hook_account *a, int patience)
{
	if (patience)
		return hook_lock_take_within(&a->locked, patience);
	hook_lock_take(&a->locked);
	return true;
}

static void write_account(struct hook_thread *t, int patience)
{
	struct hook_account *a = t->evaluate.account;
	int rc = 0;

	if (!a || !take(a, patience))
		return;
	if (a->changed && !hook_process.replay.unevaluated)
		rc = put_account(a, t);
	a->changed = false;
	hook_lock_give(&a->locked);
	if (rc)
		hook_evaluate_lost(t, rc);
}

void hook_account_write(struct hook_thread *t)
{
	write_account(t, 0);
}

static void write_patiently(struct hook_thread *t)
{
	write_account(t, PATIENCE);
}

void hook_account_write_all(void)
{
	if (hook_process.replay.evaluate)
		hook_sync_list_each(write_patiently);
}

void hook_account_forget(struct hook_thread *t)
{
	t->evaluate = (struct hook_thread_evaluate){0};
}

void hook_account_close(struct hook_thread *t)
{
	struct hook_account *a = t->evaluate.account;

	if (!a)
		return;
	hook_account_write(t);
	t->evaluate.account = NULL;
	trace_stream_close(&a->stream);
	hook_table_drop(&a->objects);
	hook_table_drop(&a->uses);
	hook_pages_free(a, sizeof(*a));
}
