/* SPDX-License-Identifier: Apache-2.0 */
/* libc_symbols.h - weak references to symbols that glibc has and musl does not have.
 *
 * Every program that a recorded one starts inherits LD_PRELOAD. On a machine with two C libraries, some of these
 * programs use the other one. musl's loader takes glibc's name for its own and loads this library. A symbol that it
 * then cannot find ends the program before main (musl ldso/dynlink.c, do_relocs), unless the symbol is weak. So these
 * symbols are weak, and none of the library's code runs there (sbx_libc_is_ours()). A build for musl has none of these
 * references. */
#ifndef SBX_LIBC_SYMBOLS_H
#define SBX_LIBC_SYMBOLS_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>

#pragma weak gnu_get_libc_version
#pragma weak pthread_mutex_clocklock
#pragma weak dlvsym
#pragma weak _r_debug

/* pthread_atfork() in glibc's libc_nonshared.a is this function with a strong reference. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso_handle)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Is the process's C library the one for which this library was built? */
static inline bool sbx_libc_is_ours(void)
{
    return gnu_get_libc_version != NULL;
}

/* The structure by which the loader tells debuggers about its modules; NULL: there is none. */
static inline const struct r_debug *sbx_loader_debug(void)
{
    return &_r_debug;
}

/* pthread_atfork(). */
static inline int sbx_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return __register_atfork(prepare, parent, child, &__dso_handle);
}
#else
static inline bool sbx_libc_is_ours(void)
{
    return true; /* glibc's loader does not load a library built with musl */
}

extern struct r_debug *_dl_debug_addr __attribute__((weak));
static inline const struct r_debug *sbx_loader_debug(void)
{
    return &_dl_debug_addr != NULL ? _dl_debug_addr : NULL;
}

static inline int sbx_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    return pthread_atfork(prepare, parent, child);
}
#endif

#endif
