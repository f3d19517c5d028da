/* SPDX-License-Identifier: Apache-2.0 */
/* marks.h - the words that say where a function may run.
 *
 * They expand to nothing that the compiler needs. They are promises that a reader and a reviewer can check. The folder
 * in which a function lies makes them checkable (docs/SIGNAL_SAFETY.md). */
#ifndef SBX_MARKS_H
#define SBX_MARKS_H

/* May run at any instruction of any thread. It touches only memory that was mapped before. It does not allocate, takes
 * no lock, and calls nothing of libc beyond the allow-list of docs/SIGNAL_SAFETY.md. Its loops are bounded, and it
 * keeps errno. */
#define SBX_SIGNAL_SAFE

/* May run inside the program's own malloc, pthread_mutex_lock or read. It never calls a hooked function except through
 * the saved original, is guarded against re-entry, and may be interrupted by the sampler. A signal-safe function is
 * also hook-safe. */
#define SBX_HOOK_SAFE

#define SBX_MUST_CHECK  __attribute__((warn_unused_result))
#define SBX_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SBX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SBX_NOINLINE    __attribute__((noinline))
/* Called by the kernel, or by an emulator. QEMU 7.2 calls handlers of x86-64 programs with a stack that is 8 bytes off
 * the 16-byte alignment of the ABI, and an aligned store by the compiler would end the program. */
#if defined(__x86_64__)
#define SBX_CALLED_BY_KERNEL __attribute__((force_align_arg_pointer))
#else
#define SBX_CALLED_BY_KERNEL
#endif
#define SBX_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
