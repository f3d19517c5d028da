/* SPDX-License-Identifier: Apache-2.0 */
/* libc_symbols.h - what glibc has and musl has not, referred to weakly.
 *
 * LD_PRELOAD is handed down to every program that a recorded one starts, and where two C libraries live on one machine some
 * of them use the other. musl's loader takes glibc's name for its own and loads the library; a symbol that it then cannot
 * find ends the program before main (musl ldso/dynlink.c, do_relocs), unless it is weak. So these are, and nothing of the
 * library runs there (sbx_libc_is_ours()). Built with musl there is none of them. */
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

/* What pthread_atfork() is in glibc's libc_nonshared.a, which refers to it strongly. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso_handle)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Is the process's C library the one that this was built with? */
static inline bool sbx_libc_is_ours(void)
{
    return gnu_get_libc_version != NULL;
}

/* Does libc take the process for one that never had a second thread (sys/single_threaded.h)? Then fork() takes no locks. */
extern char __libc_single_threaded __attribute__((weak)); /* from 2.32 on */
static inline bool sbx_libc_saw_one_thread(void)
{
    return &__libc_single_threaded != NULL && __libc_single_threaded != 0;
}

/* Where the loader tells debuggers of its modules; NULL: nowhere. */
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
    return true; /* glibc's loader does not load what was built with musl */
}

/* musl does not tell. */
static inline bool sbx_libc_saw_one_thread(void)
{
    return false;
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
