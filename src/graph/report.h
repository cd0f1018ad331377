/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The races of a run by the place in the program where they happen: what `reprise races` shows.
 * There is one finding for each process, thread, call site and kind. The code that shows them joins
 * findings on the same line.
 */
#ifndef GRAPH_REPORT_H
#define GRAPH_REPORT_H

#include "base/map.h"
#include "graph/source.h"

enum graph_finding_kind {
	GRAPH_FINDING_RECEIVE, /* could have got another message */
	GRAPH_FINDING_PROBE,   /* could have found another one */
	GRAPH_FINDING_PROBED, /* a receive from any source after a probe: may get another message */
	GRAPH_FINDING_CHOICE, /* another request could have completed */
	GRAPH_FINDING_POLL,   /* true or false by chance; never counted as racing */
	GRAPH_FINDING_KINDS,
};

enum { GRAPH_DIFFERS_TAG = 1, GRAPH_DIFFERS_BYTES = 2 };

/* A message as its sender knows it; number 0: not known. */
struct graph_finding_message {
	unsigned rank;
	uint32_t thread, site;
	uint64_t number;
	int32_t tag;
	uint64_t bytes;
};

struct graph_finding {
	enum graph_finding_kind kind;
	unsigned rank;
	uint32_t thread, site;
	uint16_t call;
	bool poll;             /* it is one that may fail */
	unsigned differs;      /* what, beside the source */
	uint32_t probe_site;   /* of PROBED: the probe */
	uint64_t outcomes;     /* how often it happened */
	uint64_t racing;       /* so many of them could have been otherwise */
	uint64_t alternatives; /* messages that could have come instead, of all of them */
	uint64_t swapped;      /* of PROBED: how often it did get another message in this run */
	/* an example: of a CHOICE `other` is the request that could have been returned */
	uint64_t number;
	uint32_t index; /* of it; 0 if there is none */
	struct graph_finding_message got, other;
};

struct graph_report {
	struct graph_finding **finding; /* in no order */
	size_t findings;
	uint64_t events, messages;
	uint64_t wildcards; /* receives and probes of any source that got a message */
	uint64_t racing;    /* of these */
	uint64_t pairs;
	uint64_t choices; /* that race */
	/* by rank: wildcards, racing ones, messages received */
	uint64_t *rank_wildcards, *rank_racing, *rank_received;
	struct rp_map keys;
	struct graph_finding *last;
	unsigned ranks;
};

/* 0, or the exit code after saying what is wrong with the events. */
int graph_report_make(struct graph_report *report, const struct graph_source *source)
	__attribute__((warn_unused_result));
void graph_report_free(struct graph_report *report);

#endif
