/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of launcher options, from the launchers' own help. An option takes one dash or two. The
 * caller guesses options that are not here. So a table needs all options that take two words, and
 * all whose value could be mistaken for a program.
 */
#include "launch/options.h"

#include <stddef.h>
#include <string.h>

#define FLAG(name)                                                                                 \
	{                                                                                          \
		name, 0, LAUNCH_OPTION_PLAIN                                                       \
	}
#define VALUE(name)                                                                                \
	{                                                                                          \
		name, 1, LAUNCH_OPTION_PLAIN                                                       \
	}
#define PAIR(name)                                                                                 \
	{                                                                                          \
		name, 2, LAUNCH_OPTION_PLAIN                                                       \
	}
#define MOVES(name)                                                                                \
	{                                                                                          \
		name, 1, LAUNCH_OPTION_MOVES                                                       \
	}
#define APPFILE(name)                                                                              \
	{                                                                                          \
		name, 1, LAUNCH_OPTION_APPFILE                                                     \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, 0, LAUNCH_OPTION_PLAIN                                                       \
	}

static const struct launch_option orterun[] = {
	VALUE("n"),
	VALUE("np"),
	VALUE("c"),
	VALUE("N"),
	VALUE("H"),
	VALUE("host"),
	VALUE("hostfile"),
	VALUE("machinefile"),
	VALUE("default-hostfile"),
	VALUE("x"),
	PAIR("mca"),
	PAIR("gmca"),
	PAIR("omca"),
	PAIR("gomca"),
	PAIR("pmixmca"),
	PAIR("gpmixmca"),
	PAIR("prtemca"),
	PAIR("gprtemca"),
	VALUE("am"),
	VALUE("tune"),
	VALUE("bind-to"),
	VALUE("map-by"),
	VALUE("rank-by"),
	VALUE("ppr"),
	VALUE("npernode"),
	VALUE("npersocket"),
	VALUE("cpu-list"),
	VALUE("cpu-set"),
	VALUE("cpus-per-proc"),
	VALUE("cpus-per-rank"),
	VALUE("rf"),
	VALUE("rankfile"),
	VALUE("cf"),
	VALUE("cartofile"),
	MOVES("wd"),
	MOVES("wdir"),
	MOVES("path"),
	{"set-cwd-to-session-dir", 0, LAUNCH_OPTION_MOVES},
	APPFILE("app"),
	VALUE("prefix"),
	VALUE("preload-files"),
	VALUE("output-filename"),
	VALUE("output"),
	VALUE("display"),
	VALUE("runtime-options"),
	VALUE("stdin"),
	VALUE("xml-file"),
	VALUE("xterm"),
	VALUE("timeout"),
	VALUE("debugger"),
	VALUE("hnp"),
	VALUE("dvm-uri"),
	VALUE("launch-agent"),
	VALUE("max-restarts"),
	VALUE("max-vm-size"),
	VALUE("ompi-server"),
	VALUE("personality"),
	VALUE("report-events"),
	VALUE("report-pid"),
	VALUE("report-uri"),
	FLAG("allow-run-as-root"),
	FLAG("bind-to-core"),
	FLAG("bind-to-socket"),
	FLAG("bycore"),
	FLAG("bynode"),
	FLAG("byslot"),
	FLAG("continuous"),
	FLAG("d"),
	FLAG("debug"),
	FLAG("debug-daemons"),
	FLAG("debug-daemons-file"),
	FLAG("debug-devel"),
	FLAG("disable-recovery"),
	FLAG("display-allocation"),
	FLAG("display-devel-allocation"),
	FLAG("display-devel-map"),
	FLAG("display-diffable-map"),
	FLAG("display-map"),
	FLAG("display-topo"),
	FLAG("do-not-launch"),
	FLAG("do-not-resolve"),
	FLAG("enable-instant-on-support"),
	FLAG("enable-recovery"),
	FLAG("fwd-mpirun-port"),
	FLAG("get-stack-traces"),
	FLAG("index-argv-by-rank"),
	FLAG("leave-session-attached"),
	FLAG("merge-stderr-to-stdout"),
	FLAG("nolocal"),
	FLAG("nooversubscribe"),
	FLAG("noprefix"),
	FLAG("novm"),
	FLAG("output-proctable"),
	FLAG("oversubscribe"),
	FLAG("pernode"),
	FLAG("preload-binary"),
	FLAG("q"),
	FLAG("quiet"),
	FLAG("report-bindings"),
	FLAG("report-child-jobs-separately"),
	FLAG("report-state-on-timeout"),
	FLAG("s"),
	FLAG("show-progress"),
	FLAG("tag-output"),
	FLAG("timestamp-output"),
	FLAG("tv"),
	FLAG("use-hwthread-cpus"),
	FLAG("use-regexp"),
	FLAG("v"),
	FLAG("verbose"),
	FLAG("xml"),
	END,
};

static const struct launch_option hydra[] = {
	VALUE("n"),
	VALUE("np"),
	VALUE("f"),
	VALUE("hostfile"),
	VALUE("machine"),
	VALUE("machinefile"),
	VALUE("host"),
	VALUE("hosts"),
	PAIR("env"),
	PAIR("genv"),
	VALUE("envlist"),
	VALUE("genvlist"),
	MOVES("wdir"),
	MOVES("dir"),
	MOVES("path"),
	APPFILE("configfile"),
	VALUE("launcher"),
	VALUE("bootstrap"),
	VALUE("launcher-exec"),
	VALUE("bootstrap-exec"),
	VALUE("rmk"),
	VALUE("topolib"),
	VALUE("bind-to"),
	VALUE("map-by"),
	VALUE("membind"),
	VALUE("demux"),
	VALUE("iface"),
	VALUE("ppn"),
	VALUE("perhost"),
	VALUE("prepend-pattern"),
	VALUE("outfile-pattern"),
	VALUE("errfile-pattern"),
	VALUE("nameserver"),
	VALUE("order-nodes"),
	VALUE("localhost"),
	VALUE("usize"),
	VALUE("gpus-per-proc"),
	VALUE("s"),
	VALUE("timeout"),
	VALUE("arch"),
	VALUE("soft"),
	VALUE("file"),
	FLAG("envall"),
	FLAG("envnone"),
	FLAG("genvall"),
	FLAG("genvnone"),
	FLAG("enable-x"),
	FLAG("disable-x"),
	FLAG("v"),
	FLAG("verbose"),
	FLAG("info"),
	FLAG("print-all-exitcodes"),
	FLAG("profile"),
	FLAG("prepend-rank"),
	FLAG("l"),
	FLAG("disable-auto-cleanup"),
	FLAG("disable-hostname-propagation"),
	FLAG("pmi-port"),
	FLAG("skip-launch-node"),
	END,
};

static const struct launch_option srun[] = {
	VALUE("A"),
	VALUE("account"),
	VALUE("B"),
	VALUE("extra-node-info"),
	VALUE("C"),
	VALUE("constraint"),
	VALUE("c"),
	VALUE("cpus-per-task"),
	MOVES("D"),
	MOVES("chdir"),
	VALUE("d"),
	VALUE("dependency"),
	VALUE("e"),
	VALUE("error"),
	VALUE("export"),
	VALUE("gpus"),
	VALUE("gpus-per-node"),
	VALUE("gpus-per-task"),
	VALUE("gres"),
	VALUE("hint"),
	VALUE("i"),
	VALUE("input"),
	VALUE("J"),
	VALUE("job-name"),
	VALUE("jobid"),
	VALUE("L"),
	VALUE("licenses"),
	VALUE("M"),
	VALUE("clusters"),
	VALUE("m"),
	VALUE("distribution"),
	VALUE("mem"),
	VALUE("mem-per-cpu"),
	VALUE("mpi"),
	VALUE("N"),
	VALUE("nodes"),
	VALUE("n"),
	VALUE("ntasks"),
	VALUE("ntasks-per-node"),
	VALUE("ntasks-per-socket"),
	VALUE("ntasks-per-core"),
	VALUE("nodelist"),
	VALUE("o"),
	VALUE("output"),
	VALUE("p"),
	VALUE("partition"),
	VALUE("q"),
	VALUE("qos"),
	VALUE("r"),
	VALUE("relative"),
	VALUE("reservation"),
	VALUE("S"),
	VALUE("core-spec"),
	VALUE("T"),
	VALUE("threads"),
	VALUE("t"),
	VALUE("time"),
	VALUE("threads-per-core"),
	VALUE("time-min"),
	VALUE("W"),
	VALUE("wait"),
	VALUE("w"),
	VALUE("x"),
	VALUE("exclude"),
	VALUE("cpu-bind"),
	VALUE("het-group"),
	{"multi-prog", 0, LAUNCH_OPTION_APPFILE},
	FLAG("K"),
	FLAG("kill-on-bad-exit"),
	FLAG("E"),
	FLAG("preserve-env"),
	FLAG("exact"),
	FLAG("exclusive"),
	FLAG("H"),
	FLAG("hold"),
	FLAG("I"),
	FLAG("immediate"),
	FLAG("k"),
	FLAG("no-kill"),
	FLAG("l"),
	FLAG("label"),
	FLAG("O"),
	FLAG("overcommit"),
	FLAG("overlap"),
	FLAG("pty"),
	FLAG("Q"),
	FLAG("quiet"),
	FLAG("s"),
	FLAG("oversubscribe"),
	FLAG("u"),
	FLAG("unbuffered"),
	FLAG("v"),
	FLAG("verbose"),
	FLAG("X"),
	FLAG("Z"),
	END,
};

static const struct {
	enum launch_dialect dialect;
	const struct launch_option *options;
} tables[] = {
	{LAUNCH_ORTERUN, orterun},
	{LAUNCH_HYDRA, hydra},
	{LAUNCH_SRUN, srun},
};

static const struct launch_option *find(const struct launch_option *options, const char *name,
					size_t length)
{
	for (; options->name; options++) {
		if (strlen(options->name) == length && !strncmp(options->name, name, length))
			return options;
	}
	return NULL;
}

/* "-n4": a one-letter option of srun with its value behind it. */
static const struct launch_option *find_attached(const struct launch_option *options,
						 const char *word)
{
	const struct launch_option *option = NULL;

	if (word[0] == '-' && word[1] && word[1] != '-' && word[2])
		option = find(options, word + 1, 1);
	return option && option->words == 1 ? option : NULL;
}

const struct launch_option *launch_option_find(int dialects, const char *word, bool *whole)
{
	const char *name = word + strspn(word, "-");
	size_t length = strcspn(name, "=");
	const struct launch_option *option;

	*whole = name[length] == '=';
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!(dialects & (int)tables[i].dialect))
			continue;
		option = find(tables[i].options, name, length);
		if (option)
			return option;
	}
	if (!(dialects & LAUNCH_SRUN))
		return NULL;
	option = find_attached(srun, word);
	if (option)
		*whole = true;
	return option;
}
