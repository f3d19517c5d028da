/* SPDX-License-Identifier: Apache-2.0 */
/* raw_syscall.h - system calls without libc, for code that runs inside the application.
 *
 * libc's wrappers are not used, because they are cancellation points, set errno, and may be the very functions that the
 * capture points hook. Every call here returns a count or 0, or a negative errno, and leaves errno alone. */
#ifndef SBX_RAW_SYSCALL_H
#define SBX_RAW_SYSCALL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "marks.h"

/* Each architecture's file defines sbx_raw_syscall(number, a, b, c, d, e, f) and nothing else. */
#if defined(__x86_64__)
#include "raw_syscall_x86_64.h"
#elif defined(__aarch64__)
#include "raw_syscall_aarch64.h"
#else
#error "raw system calls of this architecture are not known"
#endif

/* Write at a place of a file. May write less than asked. */
SBX_SIGNAL_SAFE SBX_MUST_CHECK static inline long sbx_raw_pwrite(int fd, const void *bytes, size_t count, uint64_t at)
{
    return sbx_raw_syscall(SYS_pwrite64, fd, (long)(uintptr_t)bytes, (long)count, (long)at, 0, 0);
}

/* Open an existing file. The descriptor, or a negative errno. */
SBX_SIGNAL_SAFE SBX_MUST_CHECK static inline long sbx_raw_open(const char *path, int flags)
{
    return sbx_raw_syscall(SYS_openat, -100 /* AT_FDCWD */, (long)(uintptr_t)path, flags, 0, 0, 0);
}

SBX_SIGNAL_SAFE static inline void sbx_raw_close(int fd)
{
    (void)sbx_raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Read at a place of a file. May read less than asked. */
SBX_SIGNAL_SAFE SBX_MUST_CHECK static inline long sbx_raw_pread(int fd, void *bytes, size_t count, uint64_t at)
{
    return sbx_raw_syscall(SYS_pread64, fd, (long)(uintptr_t)bytes, (long)count, (long)at, 0, 0);
}

/* Set a file's length. Added bytes read as zeroes and take no room. */
SBX_SIGNAL_SAFE SBX_MUST_CHECK static inline long sbx_raw_ftruncate(int fd, uint64_t bytes)
{
    return sbx_raw_syscall(SYS_ftruncate, fd, (long)bytes, 0, 0, 0, 0);
}

/* The resources that the calling thread has used. */
SBX_SIGNAL_SAFE SBX_MUST_CHECK static inline long sbx_raw_getrusage_thread(struct rusage *usage_out)
{
    return sbx_raw_syscall(SYS_getrusage, 1 /* RUSAGE_THREAD */, (long)(uintptr_t)usage_out, 0, 0, 0, 0);
}

#endif
