/* SPDX-License-Identifier: Apache-2.0 */
#include "group/mi.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define DEPTH 64 /* of what is in each other; gdb's own answers have five or so */

/* Where it is, and NULL once something cannot be read. */
struct reading {
	const char *at;
	int depth;
};

static json_t *read_value(struct reading *r);

/* Bytes as they are: what is no UTF-8 is replaced when it becomes JSON. */
static char *read_text(struct reading *r)
{
	char *text, *out;

	if (*r->at != '"') {
		r->at = NULL;
		return NULL;
	}
	out = text = rp_alloc(strlen(r->at) + 1, 1);
	for (r->at++; *r->at && *r->at != '"'; r->at++) {
		static const char from[] = "nteabfrv", to[] = "\n\t\033\a\b\f\r\v";
		const char *known;

		if (*r->at != '\\' || !r->at[1]) {
			*out++ = *r->at;
			continue;
		}
		r->at++;
		known = strchr(from, *r->at);
		if (r->at[0] >= '0' && r->at[0] <= '7' && r->at[1] >= '0' && r->at[1] <= '7' &&
		    r->at[2] >= '0' && r->at[2] <= '7') {
			*out++ = (char)((r->at[0] - '0') << 6 | (r->at[1] - '0') << 3 |
					(r->at[2] - '0'));
			r->at += 2;
		} else {
			*out++ = known ? to[known - from] : *r->at;
		}
	}
	r->at = *r->at == '"' ? r->at + 1 : NULL;
	return text;
}

static json_t *text_value(struct reading *r)
{
	char *text = read_text(r), *clean = text ? rp_text_cleaned(text, "?", true) : NULL;
	json_t *value = clean ? json_string(clean) : NULL;

	free(text);
	free(clean);
	return value;
}

/* "name=value"; NULL names are allowed in lists only. */
static json_t *read_result(struct reading *r, char **name)
{
	size_t n = strcspn(r->at, "=,{}[]\"");

	*name = NULL;
	if (r->at[n] == '=') {
		*name = rp_format("%.*s", (int)n, r->at);
		r->at += n + 1;
	}
	return read_value(r);
}

static json_t *read_inside(struct reading *r, char end)
{
	json_t *all = end == '}' ? json_object() : json_array(), *value;
	char *name;

	r->at++;
	while (r->at && *r->at && *r->at != end) {
		value = read_result(r, &name);
		if (value && end == ']')
			json_array_append_new(all, value);
		else if (value && name)
			json_object_set_new(all, name, value);
		else
			json_decref(value);
		free(name);
		if (r->at && *r->at == ',')
			r->at++;
		else if (r->at && *r->at != end)
			r->at = NULL;
	}
	if (r->at && *r->at == end) {
		r->at++;
		return all;
	}
	r->at = NULL;
	json_decref(all);
	return NULL;
}

static json_t *read_value(struct reading *r)
{
	json_t *value = NULL;

	if (++r->depth > DEPTH)
		r->at = NULL;
	else if (*r->at == '"')
		value = text_value(r);
	else if (*r->at == '{' || *r->at == '[')
		value = read_inside(r, *r->at == '{' ? '}' : ']');
	else
		r->at = NULL;
	r->depth--;
	return value;
}

static bool read_record(struct group_mi *out, const char *at)
{
	struct reading r = {0};
	size_t n = strcspn(at, ",");

	out->name = rp_format("%.*s", (int)n, at);
	out->results = json_object();
	r.at = at + n;
	while (r.at && *r.at == ',') {
		char *name;
		json_t *value;

		r.at++;
		value = read_result(&r, &name);
		if (value && name)
			json_object_set_new(out->results, name, value);
		else
			json_decref(value);
		free(name);
	}
	return r.at && !*r.at;
}

void group_mi_read(const char *line, struct group_mi *out)
{
	const char *at = line;
	char *end;

	*out = (struct group_mi){.token = -1};
	if (isdigit((unsigned char)*at)) {
		out->token = strtol(at, &end, 10);
		at = end;
	}
	if (*at && strchr("^*=+", *at)) {
		out->kind = *at;
		if (read_record(out, at + 1))
			return;
		group_mi_free(out);
	} else if (*at && strchr("~@&", *at)) {
		struct reading r = {.at = at + 1};

		out->kind = *at;
		out->text = read_text(&r);
		if (r.at && !*r.at)
			return;
		group_mi_free(out);
	}
	*out = (struct group_mi){.token = -1, .text = rp_strdup(line)};
}

void group_mi_free(struct group_mi *mi)
{
	free(mi->name);
	free(mi->text);
	json_decref(mi->results);
	*mi = (struct group_mi){.token = -1};
}

const char *group_mi_string(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

char *group_mi_quoted(const char *text)
{
	char *quoted = rp_alloc(2 * strlen(text) + 3, 1), *out = quoted;

	*out++ = '"';
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			*out++ = '\\';
		*out++ = *text == '\n' ? ' ' : *text;
	}
	*out++ = '"';
	return quoted;
}
