/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reprise doctor: tries on this machine what recording and replaying need, and says for each thing
 * whether it works and, if not, what to do. A check tries the thing itself rather than a version
 * number. "FAIL" means that something will not work; "warn" that something works less well.
 */
#include "cmd/cmd.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/log.h"
#include "base/mem.h"
#include "launch/flavour.h"
#include "launch/program.h"

enum verdict { OK, WARN, FAIL };

struct report {
	json_t *checks; /* NULL: text on stdout */
	bool failed;
};

static void check(struct report *report, enum verdict verdict, const char *name, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));

static void check(struct report *report, enum verdict verdict, const char *name, const char *format,
		  ...)
{
	static const char *const words[] = {"ok", "warn", "FAIL"};
	char text[1024];
	json_t *value;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	report->failed = report->failed || verdict == FAIL;
	if (!report->checks) {
		printf("%-4s  %-12s  %s\n", words[verdict], name, text);
		return;
	}
	value = json_string(text);
	json_array_append_new(report->checks,
			      json_pack("{s:s, s:s, s:o}", "check", name, "verdict", words[verdict],
					"text", value ? value : json_string("(not UTF-8)")));
}

/* The exit status of f(data) in a child process, or -1 if it did not end by itself. */
static int in_child(int (*f)(void *), void *data)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(f(data));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Lazily, as the loader does: MPI's own symbols come with the program. */
static int load(void *path)
{
	return dlopen(path, RTLD_LAZY) ? 0 : 1;
}

static void check_hooks(struct report *report, enum launch_mpi mpi, const char *title, bool needed)
{
	char *path = launch_hook_find(mpi);

	if (!path)
		check(report, needed ? FAIL : WARN, "hooks",
		      "no hook library for %s: build Reprise with its development files installed",
		      title);
	else if (in_child(load, path) != 0)
		check(report, FAIL, "hooks",
		      "%s does not load: build Reprise again on this machine", path);
	else
		check(report, OK, "hooks", "%s: %s", title, path);
	free(path);
}

/* The first line of what a command prints, or NULL. */
static char *first_line(const char *command)
{
	FILE *out = popen(command, "re");
	size_t room = 0;
	char *line = NULL;

	if (!out)
		return NULL;
	if (getline(&line, &room, out) <= 0) {
		free(line);
		line = NULL;
	} else {
		line[strcspn(line, "\n")] = '\0';
	}
	pclose(out);
	return line;
}

static bool check_launcher(struct report *report, const char *name, const char *command)
{
	char *path = launch_program_find(name);
	char *line = path ? first_line(command) : NULL;

	if (path)
		check(report, OK, "launcher", "%s: %s", path, line ? line : "gives no version");
	free(path);
	free(line);
	return path != NULL;
}

static void check_launchers(struct report *report)
{
	bool found = false;

	found |= check_launcher(report, "mpirun.openmpi",
				"mpirun.openmpi --allow-run-as-root --version 2>/dev/null");
	found |= check_launcher(
		report, "mpiexec.hydra",
		"mpiexec.hydra -info 2>/dev/null | sed -n 's/^ *Version: */MPICH /p'");
	if (!found)
		found = check_launcher(report, "mpirun", "mpirun --version 2>&1");
	found |= check_launcher(report, "srun", "srun --version 2>/dev/null");
	if (!found)
		check(report, WARN, "launcher",
		      "no mpirun, mpiexec.hydra or srun in PATH: only single processes can be "
		      "recorded");
}

/* A stack address that the kernel chose in a new program, as a number printed by it. */
static int check_fixed(void *unused)
{
	char *one, *two;

	(void)unused;
	if (personality(ADDR_NO_RANDOMIZE) < 0)
		return 1;
	one = first_line("grep -F '[stack]' /proc/self/maps");
	two = first_line("grep -F '[stack]' /proc/self/maps");
	return one && two && !strcmp(one, two) ? 0 : 2;
}

static void check_addresses(struct report *report)
{
	int rc = in_child(check_fixed, NULL);

	if (rc == 0)
		check(report, OK, "addresses", "address randomisation can be switched off");
	else if (rc == 1)
		check(report, WARN, "addresses",
		      "the system forbids personality(ADDR_NO_RANDOMIZE): pointers will differ "
		      "from run to run; in a container, allow it in the seccomp profile");
	else
		check(report, WARN, "addresses",
		      "addresses differ although randomisation is off: pointers will differ from "
		      "run to run");
}

static const char *filesystem_name(const char *dir)
{
	static const struct {
		long magic;
		const char *name;
	} known[] = {
		{0xef53, "ext4"},
		{0x58465342, "xfs"},
		{(long)0x9123683e, "btrfs"},
		{0x01021994, "tmpfs"},
		{0x6969, "nfs"},
		{0x0bd00bd0, "lustre"},
		{0x794c7630, "overlayfs"},
		{0x47504653, "gpfs"},
		{(long)0x65735546, "fuse"},
		{0x2fc12fc1, "zfs"},
		{(long)0xff534d42, "cifs"},
	};
	struct statfs fs;

	if (statfs(dir, &fs) != 0)
		return "unknown";
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if ((long)fs.f_type == known[i].magic)
			return known[i].name;
	}
	return "another";
}

/* What a stream does: allocate ahead, map shared, store. NULL, or the step that failed. */
static const char *try_mapped_file(const char *dir)
{
	char *path = rp_format("%s/.reprise-doctor-XXXXXX", dir);
	int fd = mkostemp(path, O_CLOEXEC);
	const char *failed = NULL;
	char *map;

	if (fd < 0) {
		free(path);
		return "making a file";
	}
	unlink(path);
	free(path);
	if (fallocate(fd, 0, 0, 65536) != 0 && (errno != EOPNOTSUPP || ftruncate(fd, 65536) != 0)) {
		failed = "allocating space";
	} else {
		map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED) {
			failed = "mapping a file";
		} else {
			map[65535] = 1;
			munmap(map, 65536);
		}
	}
	close(fd);
	return failed;
}

static void check_place(struct report *report)
{
	const char *dir = getenv("REPRISE_TRACE_DIR");
	const char *failed;
	struct statvfs fs;

	if (!dir || !*dir)
		dir = ".";
	failed = try_mapped_file(dir);
	if (failed)
		check(report, FAIL, "traces",
		      "%s fails in %s (%s filesystem): set REPRISE_TRACE_DIR to another directory",
		      failed, dir, filesystem_name(dir));
	else if (statvfs(dir, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize < 100e6)
		check(report, WARN, "traces",
		      "less than 100 MB are free in %s: set REPRISE_TRACE_DIR to another directory",
		      dir);
	else
		check(report, OK, "traces", "%s (%s filesystem) can hold traces", dir,
		      filesystem_name(dir));
}

static void check_temporary(struct report *report)
{
	const char *dir = getenv("TMPDIR");
	const char *failed;

	if (!dir || !*dir)
		dir = "/tmp";
	failed = try_mapped_file(dir);
	if (failed)
		check(report, WARN, "temporary",
		      "%s fails in %s: set TMPDIR to a directory that you can write to", failed,
		      dir);
	else
		check(report, OK, "temporary", "%s can be written to", dir);
}

static void check_shared_memory(struct report *report)
{
	struct statvfs fs;
	double free_mb;

	if (statvfs("/dev/shm", &fs) != 0) {
		check(report, WARN, "shm", "there is no /dev/shm: MPI may be slow or fail");
		return;
	}
	free_mb = (double)fs.f_bavail * (double)fs.f_frsize / 1e6;
	if (free_mb < 128)
		check(report, WARN, "shm",
		      "/dev/shm has %.0f MB free: MPI may fail; in a container, use --shm-size=1g",
		      free_mb);
	else
		check(report, OK, "shm", "/dev/shm has %.0f MB free", free_mb);
}

static void check_gdb(struct report *report)
{
	char *path = launch_program_find("gdb");
	char *line = path ? first_line("gdb --version 2>/dev/null") : NULL;

	if (path)
		check(report, OK, "gdb", "%s: %s", path, line ? line : "gives no version");
	else
		check(report, WARN, "gdb",
		      "there is no gdb in PATH: install it to look into a replay");
	free(path);
	free(line);
}

static void check_ptrace(struct report *report)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file) {
		if (fscanf(file, "%d", &scope) != 1)
			scope = 0;
		fclose(file);
	}
	if (scope == 0 || (scope < 3 && geteuid() == 0))
		check(report, OK, "ptrace", "gdb may attach to running ranks");
	else
		check(report, WARN, "ptrace",
		      "kernel.yama.ptrace_scope is %d: gdb cannot attach to running ranks; set it "
		      "to 0",
		      scope);
}

/* Our own code as a sample: does libdw know where an address of it comes from? */
static void check_symbols(struct report *report)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
	};
	Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwarf_Addr address = (Dwarf_Addr)(uintptr_t)check_symbols;

	if (dwfl && dwfl_linux_proc_report(dwfl, getpid()) == 0 &&
	    dwfl_report_end(dwfl, NULL, NULL) == 0 && dwfl_addrmodule(dwfl, address))
		check(report, OK, "symbols", "libdw works; compile programs with -g to see lines");
	else
		check(report, WARN, "symbols",
		      "libdw cannot read this process: reports will name no source lines");
	dwfl_end(dwfl);
}

static void check_root(struct report *report)
{
	char *mpirun;

	if (geteuid() != 0)
		return;
	mpirun = launch_program_find("orterun");
	if (mpirun &&
	    (!getenv("OMPI_ALLOW_RUN_AS_ROOT") || !getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")))
		check(report, WARN, "root",
		      "Open MPI refuses to run as root unless OMPI_ALLOW_RUN_AS_ROOT=1 and "
		      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 are set");
	else if (mpirun)
		check(report, OK, "root", "Open MPI may run as root");
	free(mpirun);
}

static void check_cores(struct report *report)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;

	check(report, OK, "cores",
	      "%d; for more ranks than that, Open MPI needs --oversubscribe and "
	      "OMPI_MCA_mpi_yield_when_idle=1",
	      n);
}

struct wanted {
	unsigned format;
};

static const struct cmd_option options[] = {
	CMD_OPTION_FORMAT(struct wanted, format),
	CMD_OPTION_END,
};

static int run(int argc, char **argv)
{
	struct report report = {0};
	struct wanted w = {0};
	struct cmd_operands operands;
	int code = cmd_options_read(&cmd_doctor, argc, argv, &w, &operands);
	bool json = w.format == CMD_FORMAT_JSON;
	char *openmpi, *mpich;

	if (code)
		return code;
	report.checks = json ? json_array() : NULL;
	openmpi = launch_program_find("orterun");
	mpich = launch_program_find("mpiexec.hydra");
	check_hooks(&report, LAUNCH_MPI_NONE, "programs without MPI", true);
	check_hooks(&report, LAUNCH_MPI_OPENMPI, "Open MPI", openmpi != NULL);
	check_hooks(&report, LAUNCH_MPI_MPICH, "MPICH", mpich != NULL);
	check_launchers(&report);
	check_root(&report);
	check_cores(&report);
	check_addresses(&report);
	check_place(&report);
	check_temporary(&report);
	check_shared_memory(&report);
	check_gdb(&report);
	check_ptrace(&report);
	check_symbols(&report);
	free(openmpi);
	free(mpich);
	if (json) {
		json_dumpf(report.checks, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(report.checks);
	}
	return report.failed ? 1 : 0;
}

const struct cmd_verb cmd_doctor = {
	.name = "doctor",
	.takes = CMD_TAKES_NOTHING,
	.summary = "Checks this machine and says what will not work and why",
	.about = "Each line is one check: ok, warn (works less well) or FAIL (does not work). The "
		 "exit status is 1 if a check FAILs.\n",
	.options = options,
	.run = run,
};
