/* SPDX-License-Identifier: Apache-2.0 */
/* process_state.c - clears the variables in the list that the linker makes of all named ones. */
#include "process_state.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LARGE_PAGES = 4 /* from this size on the kernel replaces the pages, so the child does not copy them */
};

/* The linker defines these two symbols for a section whose name is a C identifier (the linker's manual, "Input Section
 * Example"). They are weak, because a test may have no such section. */
extern const struct sbx_process_state __start_sbx_process_state[] __attribute__((weak, visibility("hidden")));
extern const struct sbx_process_state __stop_sbx_process_state[] __attribute__((weak, visibility("hidden")));

/* A variable that is already zero is not written, because that would copy its page. */
static void clear_small(void *variable, size_t bytes)
{
    const uint8_t *at = variable;
    if (bytes != 0 && (at[0] != 0 || memcmp(at, at + 1, bytes - 1) != 0)) {
        memset(variable, 0, bytes);
    }
}

static void clear(void *variable, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)variable, end = begin + bytes;
    uintptr_t first = (begin + page - 1) & ~(page - 1), last = end & ~(page - 1);
    if (bytes < LARGE_PAGES * page || madvise((void *)first, last - first, MADV_DONTNEED) != 0) {
        clear_small(variable, bytes);
        return;
    }
    clear_small(variable, first - begin);
    clear_small((void *)last, end - last);
}

void sbx_process_state_clear(void)
{
    for (const struct sbx_process_state *it = __start_sbx_process_state; it < __stop_sbx_process_state; it++) {
        clear(it->variable, it->bytes);
    }
}
