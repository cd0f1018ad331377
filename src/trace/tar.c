/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/tar.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct header {
	char name[100];
	char mode[8];
	char uid[8];
	char gid[8];
	char size[12];
	char mtime[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6];
	char version[2];
	char user[32];
	char group[32];
	char major[8];
	char minor[8];
	char prefix[155];
	char rest[12];
};

_Static_assert(sizeof(struct header) == TRACE_TAR_BLOCK, "a header is one block");

/* With the checksum itself taken for blanks. */
static unsigned sum(const struct header *h)
{
	const unsigned char *byte = (const unsigned char *)h;
	unsigned s = ' ' * sizeof(h->checksum);

	for (size_t i = 0; i < sizeof(*h); i++) {
		if (i < offsetof(struct header, checksum) || i >= offsetof(struct header, type))
			s += byte[i];
	}
	return s;
}

/* The last slash that leaves at most a prefix before it and at most a name behind it. */
static const char *split(const char *name, size_t length)
{
	const char *best = NULL;

	for (const char *p = name; (p = strchr(p, '/')); p++) {
		size_t before = (size_t)(p - name);

		if (before <= sizeof(((struct header *)0)->prefix) && length > before + 1 &&
		    length - before - 1 <= sizeof(((struct header *)0)->name))
			best = p;
	}
	return best;
}

static void put_octal(char *field, size_t n, uint64_t value)
{
	for (field[--n] = 0; n--; value >>= 3)
		field[n] = (char)('0' + (value & 7));
}

static void put_size(struct header *h, uint64_t size)
{
	if (size < (uint64_t)1 << 33) {
		put_octal(h->size, sizeof(h->size), size);
		return;
	}
	for (size_t i = sizeof(h->size); i-- > 1; size >>= 8)
		h->size[i] = (char)size;
	h->size[0] = (char)0x80;
}

int trace_tar_put(const struct trace_tar_entry *entry, char block[TRACE_TAR_BLOCK])
{
	struct header h = {.type = entry->directory ? '5' : '0', .magic = "ustar"};
	size_t length = strlen(entry->name);
	const char *slash, *rest = entry->name;

	if (length > sizeof(h.name)) {
		slash = split(entry->name, length);
		if (!slash)
			return -ENAMETOOLONG;
		memcpy(h.prefix, entry->name, (size_t)(slash - entry->name));
		rest = slash + 1;
	}
	memcpy(h.name, rest, strlen(rest));
	memcpy(h.version, "00", sizeof(h.version));
	put_octal(h.mode, sizeof(h.mode), entry->directory ? 0700 : 0600);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.mtime, sizeof(h.mtime), 0);
	put_size(&h, entry->directory ? 0 : entry->size);
	put_octal(h.checksum, sizeof(h.checksum) - 1, sum(&h));
	h.checksum[sizeof(h.checksum) - 1] = ' ';
	memcpy(block, &h, sizeof(h));
	return 0;
}

static bool get_octal(const char *field, size_t n, uint64_t *value)
{
	size_t i = 0;

	while (i < n && field[i] == ' ')
		i++;
	for (*value = 0; i < n && field[i] >= '0' && field[i] <= '7'; i++)
		*value = *value << 3 | (uint64_t)(field[i] - '0');
	return i && (i == n || field[i] == 0 || field[i] == ' ');
}

static bool get_size(const struct header *h, uint64_t *size)
{
	if (!(h->size[0] & 0x80))
		return get_octal(h->size, sizeof(h->size), size);
	*size = 0;
	for (size_t i = 1; i < sizeof(h->size); i++) {
		if (i < sizeof(h->size) - 8 && h->size[i])
			return false;
		*size = *size << 8 | (unsigned char)h->size[i];
	}
	return (unsigned char)h->size[0] == 0x80 && *size <= INT64_MAX;
}

static bool is_part(const char *part, size_t n)
{
	return n && !(n == 1 && part[0] == '.') && !(n == 2 && part[0] == '.' && part[1] == '.');
}

static bool is_relative(char *name, bool directory)
{
	size_t n = strlen(name);

	if (directory && n > 1 && name[n - 1] == '/')
		name[n - 1] = 0;
	for (const char *p = name;; p++) {
		n = strcspn(p, "/");
		if (!is_part(p, n))
			return false;
		p += n;
		if (!*p)
			return true;
	}
}

int trace_tar_get(const char block[TRACE_TAR_BLOCK], struct trace_tar_entry *entry)
{
	static const char zeros[TRACE_TAR_BLOCK];
	struct header h;
	uint64_t checksum;
	int prefix;

	if (!memcmp(block, zeros, sizeof(zeros)))
		return 0;
	memcpy(&h, block, sizeof(h));
	if (memcmp(h.magic, "ustar", 5) || !get_octal(h.checksum, sizeof(h.checksum), &checksum) ||
	    checksum != sum(&h))
		return -EBADMSG;
	if (h.type != '0' && h.type != 0 && h.type != '5')
		return -ENOTSUP;
	*entry = (struct trace_tar_entry){.directory = h.type == '5'};
	prefix = (int)strnlen(h.prefix, sizeof(h.prefix));
	snprintf(entry->name, sizeof(entry->name), "%.*s%s%.*s", prefix, h.prefix,
		 prefix ? "/" : "", (int)strnlen(h.name, sizeof(h.name)), h.name);
	if (!get_size(&h, &entry->size) || (entry->directory && entry->size) ||
	    !is_relative(entry->name, entry->directory))
		return -EBADMSG;
	return 1;
}
