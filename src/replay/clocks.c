/* SPDX-License-Identifier: Apache-2.0 */
/* Where the trace cannot be written to they are in memory only. */
#include "replay/clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "replay/evaluate.h"

#define CLOCKS "graph/clocks"

int replay_clocks_damaged(const struct trace_run *run)
{
	rp_say("%s of the trace %s is damaged; 'reprise evaluate --again' makes it anew", CLOCKS,
	       run->dir.show);
	return RP_EXIT_BAD_INPUT;
}

static struct graph_clocks *open_kept(const struct trace_run *run)
{
	int fd = rp_fd_open_file(run->dir.fd, CLOCKS);
	struct graph_clocks *clocks = fd < 0 ? NULL : graph_clocks_open(fd);

	if (fd >= 0)
		close(fd);
	if (clocks && graph_clocks_ranks(clocks) == run->ranks)
		return clocks;
	if (clocks)
		graph_clocks_close(clocks);
	return NULL;
}

static int make(const struct trace_run *run, int fd)
{
	struct graph_source source;
	int code = graph_source_open(&source, &run->dir), rc;

	if (code)
		return -EBADMSG;
	rc = graph_clocks_make(&source, GRAPH_CLOCKS_BLOCK, fd);
	graph_source_close(&source);
	return rc;
}

/* In the trace, and there at once; -EBADMSG: the events are to blame, which was said. */
static int keep(const struct trace_run *run, struct graph_clocks **clocks)
{
	char *part = rp_format("%s-%d", CLOCKS, (int)getpid());
	int fd = openat(run->dir.fd, part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : make(run, fd);

	if (!rc) {
		*clocks = graph_clocks_open(fd);
		rc = *clocks ? 0 : -EIO;
	}
	if (fd >= 0)
		close(fd);
	if (!rc && renameat(run->dir.fd, part, run->dir.fd, CLOCKS) != 0)
		rc = 0; /* they are as good without a name */
	unlinkat(run->dir.fd, part, 0);
	free(part);
	return rc;
}

static int make_in_memory(const struct trace_run *run, struct graph_clocks **clocks)
{
	int fd = memfd_create("clocks", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : make(run, fd);

	if (!rc) {
		*clocks = graph_clocks_open(fd);
		rc = *clocks ? 0 : -EIO;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int replay_clocks_open(const struct trace_run *run, struct graph_clocks **clocks)
{
	int code = replay_evaluate(run->dir.path, NULL), rc;

	if (code)
		return code;
	*clocks = open_kept(run);
	if (*clocks)
		return 0;
	rc = keep(run, clocks);
	if (rc && rc != -EBADMSG)
		rc = make_in_memory(run, clocks);
	if (rc == -EBADMSG)
		return RP_EXIT_BAD_INPUT;
	if (rc)
		rp_say("cannot find out what happened before what: %s", strerror(-rc));
	return rc ? RP_EXIT_FAILURE : 0;
}
