/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps outside of the process. Its pages were checked by who chose the image; here it is made
 * sure that kernel and files are what they were, on this host.
 */
#include "launch/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "ckpt/image.h"
#include "launch/flavour.h"

int launch_restore_library(char **path)
{
	*path = launch_library_find("libreprise-restore.so");
	if (*path)
		return 0;
	rp_say("libreprise-restore.so is missing: this Reprise is not whole; see 'reprise doctor'");
	return RP_EXIT_FAILURE;
}

/* Takes the name. */
static int write_file(const char *session, char *name, const char *bytes, uint64_t n, uint64_t size)
{
	char *path = rp_format("%s/%s", session, name);
	int fd, rc;

	/* Who was restored earlier in this session may have one of that name. */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	rc = fd < 0 ? -errno : 0;

	for (uint64_t done = 0; !rc && done < n;) {
		ssize_t part = write(fd, bytes + done, n - done);

		if (part < 0 && errno != EINTR)
			rc = -errno;
		done += part > 0 ? (uint64_t)part : 0;
	}
	if (!rc && size > n)
		rc = -posix_fallocate(fd, 0, (off_t)size);
	if (rc)
		rp_say("cannot write %s: %s", path, strerror(-rc));
	if (fd >= 0)
		close(fd);
	free(path);
	free(name);
	return rc ? RP_EXIT_FAILURE : 0;
}

/* How far that file of the session is mapped. */
static uint64_t mapped_up_to(const struct ckpt_image *image, const char *name)
{
	const struct ckpt_map *m = ckpt_image_section(image, CKPT_MAPS);
	size_t n = image->head->section[CKPT_MAPS].bytes / sizeof(*m);
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t end = m[i].offset + (m[i].end - m[i].start);

		if (m[i].base == CKPT_BASE_SESSION && end > most &&
		    strcmp(ckpt_image_text(image, m[i].path), name) == 0)
			most = end;
	}
	return most;
}

static int write_output(const struct ckpt_image *image, const char *session)
{
	const struct ckpt_head *h = image->head;
	char *name = rp_format("output-%04u-%u", h->rank, h->process);

	if (!h->section[CKPT_OUTPUT].bytes) {
		free(name);
		return 0;
	}
	return write_file(session, name, ckpt_image_section(image, CKPT_OUTPUT),
			  h->section[CKPT_OUTPUT].bytes, mapped_up_to(image, name));
}

static int write_copies(const struct ckpt_image *image, const char *session)
{
	const struct ckpt_fd *f = ckpt_image_section(image, CKPT_FDS);
	const char *copies = ckpt_image_section(image, CKPT_COPIES);
	size_t n = image->head->section[CKPT_FDS].bytes / sizeof(*f);
	int code = 0;

	for (size_t i = 0; i < n && !code; i++) {
		if (f[i].kind == CKPT_FD_COPY || (f[i].kind == CKPT_FD_PIPE && f[i].copy_bytes))
			code = write_file(session, rp_strdup(ckpt_image_text(image, f[i].path)),
					  copies + f[i].copy, f[i].copy_bytes, 0);
	}
	return code;
}

/* What it starts must not take itself for the rank. */
static int write_claims(const struct ckpt_image *image, const char *session)
{
	const struct ckpt_head *h = image->head;
	char *pid = rp_format("%d", (int)getpid());
	int code = 0;

	for (uint32_t k = 0; k <= h->process && !code; k++)
		code = write_file(session, rp_format("claim-%04u-%u", h->rank, k),
				  k == h->process ? pid : "1", k == h->process ? strlen(pid) : 1,
				  0);
	free(pid);
	return code;
}

/* Where the kernel puts the first mappings depends on it. */
static void set_stack_limit(uint64_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == 0) {
		limit.rlim_cur = (rlim_t)bytes;
		setrlimit(RLIMIT_STACK, &limit);
	}
}

int launch_restore_prepare(const char *image, const char *session)
{
	struct ckpt_image opened;
	int code = 0;

	ckpt_image_open(&opened, image);
	ckpt_image_check_place(&opened);
	if (opened.damage) {
		rp_say("%s %s", image, opened.damage);
		code = RP_EXIT_BAD_INPUT;
	}
	if (!code)
		code = write_output(&opened, session);
	if (!code)
		code = write_copies(&opened, session);
	if (!code)
		code = write_claims(&opened, session);
	if (!code)
		set_stack_limit(opened.head->stack_limit);
	ckpt_image_close(&opened);
	setenv("REPRISE_IMAGE", image, 1);
	return code;
}
