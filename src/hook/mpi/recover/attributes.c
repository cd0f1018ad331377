/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes of a rank alone. MPI keeps them all. What it cannot do here is to copy those of
 * MPI_COMM_WORLD, which would take all ranks, and to delete those that are left when MPI ends:
 * that is done here, by the functions of the program and in the order of this MPI.
 */
#include "hook/kit/lock.h"
#include "hook/kit/pages.h"
#include "hook/mpi/recover/recover.h"
#include "hook/program/runtime.h"

#define FIRST 64

struct keyval {
	int number;
	MPI_Comm_copy_attr_function *copy;
	void *extra;
};

/* Of MPI_COMM_WORLD or MPI_COMM_SELF. */
struct attribute {
	MPI_Comm comm;
	int keyval;
};

/* In the order in which they came. */
static struct keyval *keyvals;
static struct attribute *attributes;
static uint32_t keyval_count, keyval_room, attribute_count, attribute_room;
static struct hook_lock locked;

static void *fit(void *list, uint32_t count, uint32_t *room, size_t bytes)
{
	uint32_t more = *room ? 2 * *room : FIRST;
	void *p = list;

	if (count < *room)
		return p;
	p = hook_pages_widen(list, *room * bytes, more * bytes);
	if (!p)
		hook_failed(hook_self, "out of memory for attributes");
	*room = more;
	return p;
}

/* MPI gives a number again when nothing is left of the one before. */
static void note_keyval(int number, MPI_Comm_copy_attr_function *copy, void *extra)
{
	uint32_t i = 0;

	hook_lock_take(&locked);
	while (i < keyval_count && keyvals[i].number != number)
		i++;
	if (i == keyval_count) {
		keyvals = fit(keyvals, keyval_count, &keyval_room, sizeof(*keyvals));
		keyval_count++;
	}
	keyvals[i] = (struct keyval){number, copy, extra};
	hook_lock_give(&locked);
}

static bool find_keyval(int number, struct keyval *found)
{
	bool is_there = false;

	hook_lock_take(&locked);
	for (uint32_t i = 0; i < keyval_count && !is_there; i++) {
		is_there = keyvals[i].number == number;
		*found = keyvals[i];
	}
	hook_lock_give(&locked);
	return is_there;
}

static void remove_at(uint32_t i)
{
	attribute_count--;
	for (; i < attribute_count; i++)
		attributes[i] = attributes[i + 1];
}

static void note_deleted(MPI_Comm comm, int keyval)
{
	hook_lock_take(&locked);
	for (uint32_t i = attribute_count; i-- > 0;) {
		if (attributes[i].comm == comm && attributes[i].keyval == keyval)
			remove_at(i);
	}
	hook_lock_give(&locked);
}

/* One that is set again stays where it was, or becomes the last with Open MPI. */
static void note_set(MPI_Comm comm, int keyval)
{
	uint32_t i = 0;

	if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF)
		return;
#ifdef HOOK_FLAVOUR_OPENMPI
	note_deleted(comm, keyval);
#endif
	hook_lock_take(&locked);
	while (i < attribute_count &&
	       (attributes[i].comm != comm || attributes[i].keyval != keyval))
		i++;
	if (i == attribute_count) {
		attributes = fit(attributes, attribute_count, &attribute_room, sizeof(*attributes));
		attributes[attribute_count++] = (struct attribute){comm, keyval};
	}
	hook_lock_give(&locked);
}

/*
 * The keyval of the next attribute of a communicator to be copied, after *last, which is 0 at
 * first: MPICH begins with the newest, Open MPI goes by number.
 */
static bool next_to_copy(MPI_Comm comm, uint32_t *last, int *keyval)
{
	uint32_t seen = 0;
	bool found = false;

	hook_lock_take(&locked);
#ifdef HOOK_FLAVOUR_OPENMPI
	for (uint32_t i = 0; i < attribute_count; i++) {
		if (attributes[i].comm != comm || (*last && attributes[i].keyval <= *keyval))
			continue;
		if (!found || attributes[i].keyval < attributes[seen].keyval)
			seen = i;
		found = true;
	}
	if (found)
		*keyval = attributes[seen].keyval;
#else
	for (uint32_t i = attribute_count; i-- > 0 && !found;) {
		found = attributes[i].comm == comm && seen++ == *last;
		if (found)
			*keyval = attributes[i].keyval;
	}
#endif
	hook_lock_give(&locked);
	++*last;
	return found;
}

struct copied {
	int keyval;
	void *value;
};

/* What the program's function makes of it; false if there is to be none. */
static bool copy_one(MPI_Comm from, int number, struct copied *c, int *rc)
{
	void *value = NULL;
	struct keyval k;
	int flag = 0;

	if (!find_keyval(number, &k) || !k.copy)
		return false;
	hook_mpi_real.Comm_get_attr(from, number, &value, &flag);
	if (!flag)
		return false;
	flag = 0;
	*c = (struct copied){.keyval = number};
	hook_runtime_is_ours = true;
	*rc = k.copy(from, number, k.extra, value, &c->value, &flag);
	hook_runtime_is_ours = false;
	return *rc == MPI_SUCCESS && flag;
}

/* The copy has them in the order of the original: MPICH puts what is set before all others. */
int recover_copy_attributes(MPI_Comm from, MPI_Comm to)
{
	uint32_t last = 0, n = 0, most = attribute_count;
	size_t bytes = (most + 1) * sizeof(struct copied);
	struct copied *copies = hook_pages(bytes);
	int number = 0, rc = MPI_SUCCESS;

	if (!copies)
		hook_failed(hook_self, "out of memory for attributes");
	while (rc == MPI_SUCCESS && last < most && next_to_copy(from, &last, &number))
		n += copy_one(from, number, &copies[n], &rc);
	for (uint32_t i = 0; i < n; i++) {
#ifdef HOOK_FLAVOUR_OPENMPI
		const struct copied *c = &copies[i];
#else
		const struct copied *c = &copies[n - 1 - i];
#endif

		hook_mpi_real.Comm_set_attr(to, c->keyval, c->value);
	}
	hook_pages_free(copies, bytes);
	return rc;
}

static void delete_all(MPI_Comm comm)
{
	for (;;) {
		uint32_t i;
		int keyval = 0;

		hook_lock_take(&locked);
		for (i = attribute_count; i > 0 && attributes[i - 1].comm != comm; i--)
			;
		if (i) {
			keyval = attributes[i - 1].keyval;
			remove_at(i - 1);
		}
		hook_lock_give(&locked);
		if (!i)
			return;
		hook_mpi_real.Comm_delete_attr(comm, keyval);
	}
}

void recover_delete_attributes(void)
{
	delete_all(MPI_COMM_SELF);
	delete_all(MPI_COMM_WORLD);
}

static bool is_own_attribute(int keyval)
{
	return keyval == MPI_TAG_UB || keyval == MPI_HOST || keyval == MPI_IO ||
	       keyval == MPI_WTIME_IS_GLOBAL || keyval == MPI_UNIVERSE_SIZE ||
	       keyval == MPI_APPNUM || keyval == MPI_LASTUSEDCODE;
}

/* MPI's own are those of MPI_COMM_WORLD. */
static MPI_Comm keeper(MPI_Comm comm, int keyval)
{
	return is_own_attribute(keyval) && recover_comm(comm) ? MPI_COMM_WORLD : comm;
}

static int noted_set(int rc, MPI_Comm comm, int keyval)
{
	if (rc == MPI_SUCCESS)
		note_set(comm, keyval);
	return rc;
}

static int noted_deleted(int rc, MPI_Comm comm, int keyval)
{
	if (rc == MPI_SUCCESS)
		note_deleted(comm, keyval);
	return rc;
}

static int recover_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
				      MPI_Comm_delete_attr_function *del, int *keyval, void *extra)
{
	int rc = hook_mpi_real.Comm_create_keyval(copy, del, keyval, extra);

	if (rc == MPI_SUCCESS)
		note_keyval(*keyval, copy, extra);
	return rc;
}

static int recover_Comm_set_attr(MPI_Comm comm, int keyval, void *value)
{
	return noted_set(hook_mpi_real.Comm_set_attr(keeper(comm, keyval), keyval, value), comm,
			 keyval);
}

static int recover_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag)
{
	return hook_mpi_real.Comm_get_attr(keeper(comm, keyval), keyval, value, flag);
}

static int recover_Comm_delete_attr(MPI_Comm comm, int keyval)
{
	return noted_deleted(hook_mpi_real.Comm_delete_attr(keeper(comm, keyval), keyval), comm,
			     keyval);
}

#ifdef HOOK_FLAVOUR_MPICH
static int recover_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *del, int *keyval,
				 void *extra)
{
	int rc = hook_mpi_real.Keyval_create(copy, del, keyval, extra);

	if (rc == MPI_SUCCESS)
		note_keyval(*keyval, copy, extra);
	return rc;
}

static int recover_Attr_put(MPI_Comm comm, int keyval, void *value)
{
	return noted_set(hook_mpi_real.Attr_put(keeper(comm, keyval), keyval, value), comm, keyval);
}

static int recover_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag)
{
	return hook_mpi_real.Attr_get(keeper(comm, keyval), keyval, value, flag);
}

static int recover_Attr_delete(MPI_Comm comm, int keyval)
{
	return noted_deleted(hook_mpi_real.Attr_delete(keeper(comm, keyval), keyval), comm, keyval);
}
#endif

void recover_install_attributes(struct hook_mpi_calls *mpi)
{
	mpi->Comm_create_keyval = recover_Comm_create_keyval;
	mpi->Comm_set_attr = recover_Comm_set_attr;
	mpi->Comm_get_attr = recover_Comm_get_attr;
	mpi->Comm_delete_attr = recover_Comm_delete_attr;
#ifdef HOOK_FLAVOUR_MPICH
	mpi->Keyval_create = recover_Keyval_create;
	mpi->Attr_put = recover_Attr_put;
	mpi->Attr_get = recover_Attr_get;
	mpi->Attr_delete = recover_Attr_delete;
#endif
}
