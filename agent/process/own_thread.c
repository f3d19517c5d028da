/* SPDX-License-Identifier: Apache-2.0 */
/* own_thread.c - stacks for three threads, and pthread_create(). */
#include "own_thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "order.h"
#include "pages.h"

enum {
    STACK_BYTES = 256 * 1024, /* the deepest path is the snapshot's, some 20 KiB. Without the C library's part of it */
    SPARE_BYTES = 64 * 1024   /* below each, in place of a guard. Untouched pages use only addresses */
};

static size_t libc_bytes; /* the part of a stack that the C library uses */
static uint32_t *alive;   /* how many of our threads are alive, for other modules to read */

/* ---- the C library's part of a stack ---- */

/* The C library uses the top of a stack for itself. From the requested stack size glibc takes the guard and the static
 * TLS of the program and all its libraries, which may be megabytes. A function that glibc keeps for its own libraries
 * returns this size (the run-times of Rust and Java have long called it); without that function, PT_TLS gives it. musl
 * adds its part to the requested size. */
static int add_tls(struct dl_phdr_info *info, size_t bytes, void *sum)
{
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_TLS) {
            *(size_t *)sum += header->p_memsz + header->p_align;
        }
    }
    return 0;
}

void sbx_own_thread_prepare(uint32_t *alive_out)
{
    alive = alive_out;
    size_t (*get_minstack)(const pthread_attr_t *) =
        (size_t(*)(const pthread_attr_t *))dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
    size_t bytes = 0;
    pthread_attr_t attributes;
    if (get_minstack != NULL && pthread_attr_init(&attributes) == 0) {
        bytes = get_minstack(&attributes);
        pthread_attr_destroy(&attributes);
    } else {
        dl_iterate_phdr(add_tls, &bytes);
    }
    libc_bytes = bytes;
}

static size_t up_to(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) & ~(unit - 1);
}

static size_t stack_bytes(size_t page_bytes)
{
    return up_to(STACK_BYTES + libc_bytes, page_bytes);
}

/* ---- the place of a stack ---- */

#ifdef __GLIBC__
static uint8_t *stacks;                    /* all of them; NULL: not mapped yet */
static uint32_t taken_by[SBX_OWN_THREADS]; /* the process that has already made its thread there */

/* Gives the thread its place in the mapping, once in each process: only the kernel knows when the last thread there has
 * executed its last instruction. Later threads get a stack from the C library, like other threads. */
static void choose_stack(enum sbx_own_thread which, pthread_attr_t *attributes)
{
    size_t bytes = stack_bytes((size_t)sysconf(_SC_PAGESIZE)), place_bytes = SPARE_BYTES + bytes;
    uint32_t pid = (uint32_t)getpid();
    if (stacks == NULL) {
        stacks = sbx_pages_map(SBX_OWN_THREADS * place_bytes);
    }
    if (stacks != NULL && taken_by[which] != pid &&
        pthread_attr_setstack(attributes, stacks + which * place_bytes + SPARE_BYTES, bytes) == 0) {
        taken_by[which] = pid;
    }
}
#else
/* In a forked child musl writes to each thread of the parent, wherever its stack is, so an own mapping would save
 * nothing. */
static void choose_stack(enum sbx_own_thread which, pthread_attr_t *attributes)
{
    (void)which;
    (void)attributes;
}
#endif

static void *(*bodies[SBX_OWN_THREADS])(void *);

static void *run(void *body)
{
    void *result = (*(void *(**)(void *))body)(NULL);
    sbx_add_relaxed(alive, (uint32_t)-1); /* relaxed: a count */
    return result;
}

/* Our threads take no signal of the host: its handlers must run on the threads where the host expects them. */
int sbx_own_thread_start(enum sbx_own_thread which, pthread_t *thread, void *(*body)(void *))
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);
    if (error != 0) {
        return -error;
    }
    pthread_attr_setstacksize(&attributes, stack_bytes((size_t)sysconf(_SC_PAGESIZE)));
    choose_stack(which, &attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bodies[which] = body;
    sbx_add_relaxed(alive, 1); /* relaxed: a count */
    error = pthread_create(thread, &attributes, run, &bodies[which]);
    if (error != 0) {
        sbx_add_relaxed(alive, (uint32_t)-1); /* relaxed: a count */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return -error;
}
