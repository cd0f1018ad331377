/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launchers differ in the names of their variables; nothing else matters here. Hydra gives its job
 * no name, so its nearest ancestor process stands for the job.
 */
#include "launch/job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Prefixes, or whole names where a prefix would take in variables of other programs. */
static const char *const owned[] = {
	"OMPI_",
	"ORTE_",
	"PRTE_",
	"PMIX_",
	"PMI_",
	"HYDI_",
	"HYDRA_",
	"MPI_LOCALNRANKS=",
	"MPI_LOCALRANKID=",
	"MPIR_CVAR_CH3_INTERFACE_HOSTNAME=",
	"SLURM_",
	"PALS_",
	"REPRISE_",
};

static bool number(const char *name, unsigned *value)
{
	const char *text = getenv(name);
	unsigned long v;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || v > INT_MAX)
		return false;
	*value = (unsigned)v;
	return true;
}

bool launch_job_rank(unsigned *rank)
{
	if (number("OMPI_COMM_WORLD_RANK", rank) || number("PMI_RANK", rank) ||
	    number("PMIX_RANK", rank))
		return true;
	/* A batch script has a SLURM_PROCID too, but is no step. */
	return getenv("SLURM_STEP_ID") && number("SLURM_PROCID", rank);
}

struct process {
	long pid, parent;
	char name[32];
	unsigned long long start;
};

static bool read_process(long pid, struct process *process)
{
	char path[64], line[1024], *open_paren, *close_paren;
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[n] = '\0';
	open_paren = strchr(line, '(');
	close_paren = strrchr(line, ')');
	if (!open_paren || !close_paren)
		return false;
	snprintf(process->name, sizeof(process->name), "%.*s", (int)(close_paren - open_paren - 1),
		 open_paren + 1);
	process->pid = pid;
	return sscanf(close_paren + 1,
		      " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		      "%*d %llu",
		      &process->parent, &process->start) == 2;
}

/* Scripts may stand between the launcher and us; without a known launcher, our parent decides. */
static char *key_by_ancestor(const char *host)
{
	struct process parent = {.pid = getppid()}, p;
	long pid = getppid();

	if (!read_process(pid, &parent))
		return rp_format("process %s %ld", host, pid);
	for (p = parent; pid > 1 && read_process(pid, &p); pid = p.parent) {
		if (!strncmp(p.name, "hydra_", 6) || !strncmp(p.name, "mpiexec", 7) ||
		    !strncmp(p.name, "mpirun", 6)) {
			parent = p;
			break;
		}
	}
	return rp_format("process %s %ld %llu", host, parent.pid, parent.start);
}

char *launch_job_key(void)
{
	const char *name = getenv("PMIX_NAMESPACE"), *hnp = getenv("OMPI_MCA_orte_hnp_uri");
	const char *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	char *host, *key;

	if (name && hnp)
		return rp_format("openmpi %s %s", name, hnp);
	if (job && step)
		return rp_format("slurm %s.%s", job, step);
	host = launch_host();
	key = name ? rp_format("pmix %s %s", name, host) : key_by_ancestor(host);
	free(host);
	return key;
}

bool launch_job_owns(const char *variable)
{
	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++) {
		if (!strncmp(variable, owned[i], strlen(owned[i])))
			return true;
	}
	return false;
}

char *launch_host(void)
{
	char name[HOST_NAME_MAX + 1] = "";

	if (gethostname(name, sizeof(name)) != 0 || !name[0])
		return rp_strdup("localhost");
	name[HOST_NAME_MAX] = '\0';
	return rp_strdup(name);
}
