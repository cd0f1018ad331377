/* SPDX-License-Identifier: Apache-2.0 */
/* Filters are small programs for a machine of two registers, see linux/filter.h. */
#include "hook/input/process/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "hook/common/hook.h"
#include "hook/common/real.h"
#include "hook/thread/atomic/atom.h"
#include "hook/thread/race/race.h"
#include "trace/format.h"
#include "trace/stream.h"

#if defined(__x86_64__)

/* With the arguments that tell ours from the program's. */
static const struct {
	int number;
	unsigned long argument[4];
} needed[] = {
	{SYS_openat, {3, 0, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600}},
	{SYS_openat, {3, 0, O_RDWR | O_CLOEXEC}},
	{SYS_mmap, {0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED}},
	{SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS}},
	{SYS_munmap, {0}},
	{SYS_close, {3}},
	{SYS_fallocate, {3}},
	{SYS_ftruncate, {3}},
	{SYS_pread64, {3}},
	{SYS_linkat, {3}},
	{SYS_unlinkat, {3}},
	{SYS_faccessat, {3}},
	{SYS_newfstatat, {3}},
	{SYS_fcntl, {3, F_DUPFD_CLOEXEC}},
	{SYS_prlimit64, {0}},
	{SYS_getpid, {0}},
	{SYS_gettid, {0}},
	{SYS_futex, {0}},
	{SYS_rt_sigprocmask, {0}},
	{SYS_sched_yield, {0}},
	{SYS_write, {2}},
	{SYS_membarrier, {MEMBARRIER_CMD_PRIVATE_EXPEDITED}},
	{SYS_membarrier, {MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED}},
};

struct machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

static uint32_t compute(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default:
		return -a;
	}
}

static bool jumps(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return a & b;
	}
}

static uint32_t loaded(const struct machine *m, const struct sock_filter *f,
		       const struct seccomp_data *data)
{
	uint32_t word = 0;

	switch (BPF_MODE(f->code)) {
	case BPF_ABS:
		if (f->k <= sizeof(*data) - sizeof(word))
			memcpy(&word, (const char *)data + f->k, sizeof(word));
		return word;
	case BPF_MEM:
		return m->memory[f->k % BPF_MEMWORDS];
	case BPF_LEN:
		return sizeof(*data);
	default:
		return f->k;
	}
}

/* One instruction that is no jump and no return. */
static void step(struct machine *m, const struct sock_filter *f, const struct seccomp_data *data)
{
	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
		m->a = loaded(m, f, data);
		break;
	case BPF_LDX:
		m->x = loaded(m, f, data);
		break;
	case BPF_ST:
		m->memory[f->k % BPF_MEMWORDS] = m->a;
		break;
	case BPF_STX:
		m->memory[f->k % BPF_MEMWORDS] = m->x;
		break;
	case BPF_ALU:
		m->a = compute(f->code, m->a, BPF_SRC(f->code) == BPF_X ? m->x : f->k);
		break;
	default:
		if (BPF_MISCOP(f->code) == BPF_TAX)
			m->x = m->a;
		else
			m->a = m->x;
		break;
	}
}

/* What it says of the call. Jumps only lead forward. */
static uint32_t verdict(const struct sock_fprog *program, const struct seccomp_data *data)
{
	struct machine m = {0};

	for (size_t i = 0; i < program->len; i++) {
		const struct sock_filter *f = &program->filter[i];
		uint32_t operand = BPF_SRC(f->code) == BPF_X ? m.x : f->k;

		if (BPF_CLASS(f->code) == BPF_RET)
			return BPF_RVAL(f->code) == BPF_A ? m.a : f->k;
		if (BPF_CLASS(f->code) != BPF_JMP)
			step(&m, f, data);
		else if (BPF_OP(f->code) == BPF_JA)
			i += f->k;
		else
			i += jumps(f->code, m.a, operand) ? f->jt : f->jf;
	}
	return SECCOMP_RET_ALLOW;
}

static bool allows(const struct sock_fprog *program, size_t i)
{
	struct seccomp_data data = {.nr = needed[i].number, .arch = AUDIT_ARCH_X86_64};
	uint32_t said;

	for (size_t k = 0; k < 4; k++)
		data.args[k] = needed[i].argument[k];
	said = verdict(program, &data) & SECCOMP_RET_ACTION_FULL;
	return said == SECCOMP_RET_ALLOW || said == SECCOMP_RET_LOG;
}

/* That the kernel orders threads is needed by lent atoms; who looks for races can do without. */
static bool allows_ours(const struct sock_fprog *program)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (allows(program, i))
			continue;
		if (needed[i].number != SYS_membarrier || hook_atoms_ordered)
			return false;
		hook_atoms_forbidden = true;
		if (hook_race)
			hook_race->forbidden();
	}
	return true;
}

#else

static bool allows_ours(const struct sock_fprog *program)
{
	(void)program;
	return false;
}

#endif

static void stop_here(const char *call)
{
	struct hook_thread *t = hook_thread_self();

	if (hook_depth || !t || t->passive || !hook_process.claimed)
		return;
	hook_depth = 1;
	if (hook_process.mode == HOOK_REPLAY)
		hook_end_of_recording(t, call);
	hook_stop_recording(t, TRACE_STOP_FILTER, 0,
			    "the program has installed a filter of system calls (seccomp) that "
			    "forbids calls which recording needs");
	trace_stream_frozen = true;
	hook_depth = t->passive;
}

static void filter_comes(const char *call, unsigned long program)
{
	const struct sock_fprog *filter = (const struct sock_fprog *)program;

	if (!filter || !filter->filter || !allows_ours(filter))
		stop_here(call);
}

void hook_filter_prctl(int option, unsigned long mode, unsigned long program)
{
	if (option != PR_SET_SECCOMP)
		return;
	if (mode == SECCOMP_MODE_FILTER)
		filter_comes("prctl", program);
	else
		stop_here("prctl");
}

void hook_filter_seccomp(unsigned int operation, unsigned long program)
{
	if (operation == SECCOMP_SET_MODE_FILTER)
		filter_comes("seccomp", program);
	else if (operation == SECCOMP_SET_MODE_STRICT)
		stop_here("seccomp");
}

/* A replayed rank dies with its front, which is not the program's to see or to change. */
static int prctl_death(int option, unsigned long arg)
{
	static int chosen;

	if (option == PR_SET_PDEATHSIG && arg < NSIG)
		chosen = (int)arg;
	else if (option == PR_GET_PDEATHSIG && arg)
		*(int *)arg = chosen;
	else
		return REAL(prctl)(option, arg);
	return 0;
}

HOOK_EXPORT int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	hook_filter_prctl(option, a[0], a[1]);
	if ((option == PR_SET_PDEATHSIG || option == PR_GET_PDEATHSIG) &&
	    hook_process.mode == HOOK_REPLAY && hook_depth == 0)
		return prctl_death(option, a[0]);
	return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}
