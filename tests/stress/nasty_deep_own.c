/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_deep_own.c - a plugin that is loaded with RTLD_DEEPBIND: it calls the functions that it defines itself. */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define VISIBLE __attribute__((visibility("default")))

enum {
    BLOCKS = 64,
    BLOCK_BYTES = 512
};

static unsigned char arena[BLOCKS][BLOCK_BYTES] __attribute__((aligned(16)));
static bool is_used[BLOCKS];
static int foreign_frees;

VISIBLE void *malloc(size_t bytes)
{
    for (int i = 0; i < BLOCKS && bytes <= BLOCK_BYTES; i++) {
        if (!is_used[i]) {
            is_used[i] = true;
            return arena[i];
        }
    }
    return NULL;
}

VISIBLE void free(void *block)
{
    uintptr_t at = (uintptr_t)block - (uintptr_t)arena;
    if (at < sizeof arena && is_used[at / BLOCK_BYTES]) {
        is_used[at / BLOCK_BYTES] = false;
    } else {
        foreign_frees += block != NULL;
    }
}

VISIBLE int usleep(useconds_t us)
{
    return 1000 + (int)us;
}

VISIBLE int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
    (void)files;
    (void)count;
    return 1000 + timeout_ms;
}

VISIBLE const char *nasty_deep_check(void);
VISIBLE const char *nasty_deep_check(void)
{
    void (*volatile free_by_pointer)(void *block) = free;
    unsigned char *block = malloc(100), *other = malloc(50);
    if (usleep(48) != 1048) {
        return "its usleep() is another";
    }
    if (poll(NULL, 0, 7) != 1007) {
        return "its poll() is another";
    }
    if (block < arena[0] || block >= arena[BLOCKS] || other == NULL) {
        return "its malloc() is another";
    }
    free(other);
    free_by_pointer(block);
    return foreign_frees != 0 ? "its free() was handed what its malloc() did not make" : NULL;
}
