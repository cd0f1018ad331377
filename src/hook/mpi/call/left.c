/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function that MPI calls, such as an error handler, need not return: the program may leave the
 * call by longjmp or by an exception. Its outcome is then not known, so recording ends there,
 * aloud; what follows must not be taken for a part of that call, which nobody would notice. A jump
 * is seen as it is made. An exception is seen at the next call of MPI by a caller that is no
 * deeper.
 */
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "hook/common/real.h"
#include "hook/mpi/call/mpi.h"
#include "hook/mpi/object/turn.h"

void hook_mpi_stop(struct hook_thread *t, const char *why)
{
	char text[128];

	strcpy(text, trace_call_name(t->mpi.call));
	strcat(text, why);
	hook_stop_recording(t, TRACE_STOP_CALL, t->mpi.call, text);
}

static void leave(struct hook_thread *t)
{
	bool noted = !(hook_mpi_frame & HOOK_MPI_PASSED);

	hook_mpi_frame = 0;
	if (!noted) {
		hook_depth = t ? t->passive : 0;
		return;
	}
	hook_turn_left(t);
	hook_mpi_leave(t);
	if (hook_mpi_mode->left && !t->passive)
		hook_mpi_mode->left(t);
	hook_depth = t->passive;
}

bool hook_mpi_left(const void *frame)
{
	if (!hook_mpi_frame || (uintptr_t)frame < hook_mpi_frame || hook_depth != 1)
		return false;
	leave(hook_self);
	return hook_depth == 0;
}

/* Where the stack will be, as libc keeps it: rotated, and with a secret of the process over it. */
static uintptr_t stack_of(const struct __jmp_buf_tag *env)
{
	uintptr_t sp = (uintptr_t)env->__jmpbuf[6];

	__asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(sp));
	return sp;
}

#define NEAR (64ul << 20) /* on the same stack */

static void jumps(const struct __jmp_buf_tag *env)
{
	uintptr_t sp;

	if (!hook_mpi_frame || hook_depth != 1)
		return;
	sp = stack_of(env);
	if (sp > hook_mpi_frame && sp - hook_mpi_frame < NEAR)
		leave(hook_self);
}

#define JUMP(name)                                                                                 \
	HOOK_EXPORT __attribute__((noreturn)) void name(struct __jmp_buf_tag env[1], int value)    \
	{                                                                                          \
		static void (*real)(struct __jmp_buf_tag *, int) __attribute__((noreturn));        \
                                                                                                   \
		if (!real)                                                                         \
			real = (__typeof__(real))hook_real(#name);                                 \
		jumps(env);                                                                        \
		real(env, value);                                                                  \
	}

__attribute__((noreturn)) void __longjmp_chk(struct __jmp_buf_tag env[1], int value);

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
