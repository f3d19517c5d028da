/* SPDX-License-Identifier: Apache-2.0 */
/* process_state.c - the list that the linker makes of all that was named. */
#include "process_state.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LARGE_PAGES = 4 /* from so many on the kernel gives fresh ones: a child does not copy what it forgets */
};

/* A section whose name is one of C has these two (the linker's manual, "Input Section Example"). Weak: a test may link none. */
extern const struct sbx_process_state __start_sbx_process_state[] __attribute__((weak, visibility("hidden")));
extern const struct sbx_process_state __stop_sbx_process_state[] __attribute__((weak, visibility("hidden")));

static void clear(void *variable, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)variable, end = begin + bytes;
    uintptr_t first = (begin + page - 1) & ~(page - 1), last = end & ~(page - 1);
    if (bytes < LARGE_PAGES * page || madvise((void *)first, last - first, MADV_DONTNEED) != 0) {
        memset(variable, 0, bytes);
        return;
    }
    memset(variable, 0, first - begin);
    memset((void *)last, 0, end - last);
}

void sbx_process_state_clear(void)
{
    for (const struct sbx_process_state *it = __start_sbx_process_state; it < __stop_sbx_process_state; it++) {
        clear(it->variable, it->bytes);
    }
}
