/* SPDX-License-Identifier: Apache-2.0 */
/* marks.h - the words that say where a function may run.
 *
 * They expand to nothing the compiler needs; they are promises a reader and a reviewer can check, and the folder a
 * function lives in makes them checkable (docs/SIGNAL_SAFETY.md). */
#ifndef SBX_MARKS_H
#define SBX_MARKS_H

/* May run at any instruction of any thread: touches only memory mapped before; no allocation, no lock, no libc beyond
 * the allow-list of docs/SIGNAL_SAFETY.md; bounded loops; keeps errno. */
#define SBX_SIGNAL_SAFE

/* May run inside the program's own malloc, pthread_mutex_lock or read: never calls a hooked function except through
 * the saved original; guarded against re-entry; may itself be interrupted by the sampler. Signal safe implies it. */
#define SBX_HOOK_SAFE

#define SBX_MUST_CHECK  __attribute__((warn_unused_result))
#define SBX_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SBX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SBX_NOINLINE    __attribute__((noinline))
/* Called by the kernel, or by what stands in for it: QEMU 7.2 calls handlers of x86-64 programs with a stack that is 8 bytes off the
 * 16 that the ABI promises, and an aligned store of the compiler's would end the program. */
#if defined(__x86_64__)
#define SBX_CALLED_BY_KERNEL __attribute__((force_align_arg_pointer))
#else
#define SBX_CALLED_BY_KERNEL
#endif
#define SBX_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
