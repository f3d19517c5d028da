/* SPDX-License-Identifier: Apache-2.0 */
/* wrapper.c - a library to be preloaded, like tools that count what a program prints or check which thread holds which
 * lock. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

static atomic_long prints, bad_unlocks, other_prints;

long wrapper_prints(void);
long wrapper_other_prints(void);
long wrapper_bad_unlocks(void);

long wrapper_prints(void)
{
    return prints;
}

long wrapper_other_prints(void)
{
    return other_prints;
}

long wrapper_bad_unlocks(void)
{
    return bad_unlocks;
}

/* ---- formatted text ---- */

#define FORMATS(name, parameters, last, v_form_arguments, v_form) \
    int name parameters;                                          \
    int name parameters                                           \
    {                                                             \
        va_list rest;                                             \
        prints++;                                                 \
        va_start(rest, last);                                     \
        int result = v_form v_form_arguments;                     \
        va_end(rest);                                             \
        return result;                                            \
    }

#ifdef WRAP_FORMATS
extern int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list rest);
extern int __vdprintf_chk(int fd, int flag, const char *format, va_list rest);
FORMATS(printf, (const char *format, ...), format, (stdout, format, rest), vfprintf)
FORMATS(fprintf, (FILE * stream, const char *format, ...), format, (stream, format, rest), vfprintf)
FORMATS(dprintf, (int fd, const char *format, ...), format, (fd, format, rest), vdprintf)
FORMATS(__printf_chk, (int flag, const char *format, ...), format, (stdout, flag, format, rest), __vfprintf_chk)
FORMATS(__fprintf_chk, (FILE * stream, int flag, const char *format, ...), format, (stream, flag, format, rest),
        __vfprintf_chk)
FORMATS(__dprintf_chk, (int fd, int flag, const char *format, ...), format, (fd, flag, format, rest), __vdprintf_chk)
#else
/* A wrapper of the v-form sees its callers, but no call of printf(). */
int vprintf(const char *format, va_list rest)
{
    other_prints++;
    return vfprintf(stdout, format, rest);
}
#endif

/* ---- locks ---- */

enum {
    LOCKS_MAX = 64
};
static __thread const void *held[LOCKS_MAX];

static void note_lock(const void *lock)
{
    int i = 0;
    while (i < LOCKS_MAX - 1 && held[i] != NULL) {
        i++;
    }
    held[i] = lock;
}

static void note_unlock(const void *lock)
{
    for (int i = 0; i < LOCKS_MAX; i++) {
        if (held[i] == lock) {
            held[i] = NULL;
            return;
        }
    }
    bad_unlocks++;
}

#define LOCKS(name, type)                                               \
    int name(type *lock)                                                \
    {                                                                   \
        int (*next)(type *) = (int (*)(type *))dlsym(RTLD_NEXT, #name); \
        int result = next(lock);                                        \
        note_lock((const void *)(uintptr_t)lock);                       \
        return result;                                                  \
    }
#define UNLOCKS(name, type)                                             \
    int name(type *lock)                                                \
    {                                                                   \
        int (*next)(type *) = (int (*)(type *))dlsym(RTLD_NEXT, #name); \
        note_unlock((const void *)(uintptr_t)lock);                     \
        return next(lock);                                              \
    }

LOCKS(pthread_mutex_lock, pthread_mutex_t)
UNLOCKS(pthread_mutex_unlock, pthread_mutex_t)
LOCKS(pthread_rwlock_rdlock, pthread_rwlock_t)
LOCKS(pthread_rwlock_wrlock, pthread_rwlock_t)
UNLOCKS(pthread_rwlock_unlock, pthread_rwlock_t)
LOCKS(pthread_spin_lock, pthread_spinlock_t)
UNLOCKS(pthread_spin_unlock, pthread_spinlock_t)
