/* SPDX-License-Identifier: Apache-2.0 */
/* shared_mapping.c - one handler of SIGBUS: it lets a thread leave the faulting code if the thread asked for that, and
 * repairs mappings in a small table for the others. */
#include "shared_mapping.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "order.h"

enum {
    MAPPINGS_MAX = 64, /* a companion maps each recording to which it gives an order, while that takes */
    PAGE_BYTES = 4096
};

/* `begin` is stored last and cleared first: the handler trusts an entry with a begin. */
static struct {
    uint64_t begin, bytes;
} mappings[MAPPINGS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for adding and removing */

static bool heal(const void *address)
{
    uint64_t at = (uint64_t)(uintptr_t)address;
    for (unsigned i = 0; i < MAPPINGS_MAX; i++) {
        uint64_t begin = sbx_load_acquire(&mappings[i].begin); /* order: acquire shared_mapping.begin */
        if (begin == 0 || at - begin >= mappings[i].bytes) {
            continue;
        }
        void *page = (void *)(uintptr_t)(at & ~(uint64_t)(PAGE_BYTES - 1));
        return mmap(page, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
    }
    return false;
}

static _Thread_local sigjmp_buf *way_out; /* of a thread in sbx_mapping_survive() */

static void on_fault(int number, siginfo_t *info, void *context)
{
    int saved_errno = errno;
    (void)context;
    if (way_out != NULL) {
        siglongjmp(*way_out, 1);
    }
    if (!heal(info->si_addr)) {
        signal(number, SIG_DFL); /* the instruction is retried, and its fault ends the process */
    }
    errno = saved_errno;
}

/* Installs the handler, each time: other code may have set a handler in between, as test libraries do. */
static void be_ready(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

bool sbx_mapping_survive(void (*act)(void *context), void *context)
{
    sigjmp_buf here;
    bool is_done = false;
    be_ready();
    if (sigsetjmp(here, 1) == 0) {
        way_out = &here;
        act(context);
        is_done = true;
    }
    way_out = NULL;
    return is_done;
}

void *sbx_shared_map(int file, size_t bytes, int protection)
{
    be_ready();
    pthread_mutex_lock(&lock);
    unsigned seat = 0;
    while (seat < MAPPINGS_MAX && mappings[seat].begin != 0) {
        seat++;
    }
    void *mapping = MAP_FAILED;
    if (seat == MAPPINGS_MAX) {
        errno = ENOMEM;
    } else {
        mapping = mmap(NULL, bytes, protection, MAP_SHARED, file, 0);
    }
    if (mapping != MAP_FAILED) {
        mappings[seat].bytes = bytes;
        sbx_store_release(&mappings[seat].begin,
                          (uint64_t)(uintptr_t)mapping); /* order: release shared_mapping.begin */
    }
    pthread_mutex_unlock(&lock);
    return mapping == MAP_FAILED ? NULL : mapping;
}

void sbx_shared_unmap(void *mapping, size_t bytes)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MAPPINGS_MAX; i++) {
        if (mappings[i].begin == (uint64_t)(uintptr_t)mapping) {
            sbx_store_release(&mappings[i].begin, 0); /* order: release shared_mapping.begin */
            break;
        }
    }
    munmap(mapping, bytes);
    pthread_mutex_unlock(&lock);
}
