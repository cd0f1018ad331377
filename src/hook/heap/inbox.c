/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that go home. If one thread allocates what another frees, the second would gather blocks
 * for ever. So it sends them back, a list at a time, to the inbox of the heap that made them. What
 * is in a list, and when it is sent, follows from what the sender did; its number identifies it.
 * When it arrives is chance: the receiver looks at its inbox only in a refill, and which lists it
 * takes there is up to heap_order. In replay the receiver waits for a list that was taken and is
 * not there yet. When it was recorded, the sender had already sent it, so it needs nothing from the
 * receiver to do so again.
 */
#include "hook/heap/core.h"

const struct heap_order *heap_order;

static void post(struct heap *to, struct heap_block *list, uintptr_t info)
{
	struct heap_block *old = atomic_load_explicit(&to->inbox, memory_order_relaxed);

	list->key = info;
	do
		list->gift = old;
	while (!atomic_compare_exchange_weak_explicit(&to->inbox, &old, list, memory_order_release,
						      memory_order_relaxed));
}

static uintptr_t next_info(struct heap *h, size_t count)
{
	return (uintptr_t)h->slot << 48 | (uintptr_t)count << 32 | h->sent++;
}

/* Takes the blocks of one heap out of a list and sends them there. */
static struct heap_block *send_one(struct heap *h, struct heap_block *list)
{
	struct heap *to = heap_segment_of(list)->heap;
	struct heap_block *rest = NULL, *tail = list, *b = list->next;
	struct heap_block **link = &rest;
	size_t n = 1;

	for (; b; b = b->next) {
		if (heap_segment_of(b)->heap == to) {
			tail->next = b;
			tail = b;
			n++;
		} else {
			*link = b;
			link = &b->next;
		}
	}
	*link = NULL;
	tail->next = NULL;
	list->tail = tail;
	post(to, list, next_info(h, n));
	return rest;
}

void heap_send(struct heap *h, uint32_t c)
{
	struct heap_block *list = h->foreign[c].free;

	h->foreign[c] = (struct heap_foreign){0};
	while (list)
		list = send_one(h, list);
}

void heap_send_large(struct heap *h, struct heap_large *l)
{
	post(l->heap, &l->block, next_info(h, 1));
}

/* Moves what is in the inbox to the end of what arrived before, the oldest first. */
static void collect(struct heap *h)
{
	struct heap_block *b = atomic_exchange_explicit(&h->inbox, NULL, memory_order_acquire);
	struct heap_block *oldest = NULL, **end = &h->arrived;

	while (b) {
		struct heap_block *next = b->gift;

		b->gift = oldest;
		oldest = b;
		b = next;
	}
	while (*end)
		end = &(*end)->gift;
	*end = oldest;
}

static struct heap_block *find(struct heap *h, uintptr_t info)
{
	for (struct heap_block **link = &h->arrived; *link; link = &(*link)->gift) {
		struct heap_block *list = *link;

		if (((list->key ^ info) & HEAP_SAME_LIST) == 0) {
			*link = list->gift;
			return list;
		}
	}
	return NULL;
}

bool heap_wait(uint32_t turn)
{
	return heap_order && heap_order->wait ? heap_order->wait(turn) : heap_pages_wait(turn);
}

static struct heap_block *wait_for(struct heap *h, uintptr_t info)
{
	struct heap_block *list = find(h, info);

	for (uint32_t turn = 0; !list; turn++) {
		collect(h);
		list = find(h, info);
		if (!list && !heap_wait(turn))
			return NULL;
	}
	return list;
}

static void absorb(struct heap *h, struct heap_block *list)
{
	struct heap_class *k;

	if (heap_is_large(list)) {
		struct heap_large *l = (struct heap_large *)list;

		atomic_fetch_sub_explicit(&h->coming, l->mapped, memory_order_relaxed);
		heap_large_keep(h, l);
		return;
	}
	k = &h->small[heap_segment_of(list)->unit[heap_unit_of(list)].class];
	k->count += heap_info_count(list->key);
	list->key = HEAP_FREE;
	list->tail->next = k->free;
	k->free = list;
}

void heap_refill_take(struct heap *h)
{
	struct heap_block *list;
	uintptr_t info;

	h->refills++;
	if (heap_order && !heap_order->due(h))
		return;
	if (!heap_order && !atomic_load_explicit(&h->inbox, memory_order_relaxed))
		return;
	collect(h);
	if (!heap_order) {
		while ((list = h->arrived)) {
			h->arrived = list->gift;
			absorb(h, list);
		}
		return;
	}
	while (heap_order->take(h, &info)) {
		list = wait_for(h, info);
		if (list)
			absorb(h, list);
		else
			heap_order->missing();
	}
}
