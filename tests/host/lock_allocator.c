/* SPDX-License-Identifier: Apache-2.0 */
/* lock_allocator.c - a library to be preloaded: an allocator with one lock, as in old allocators, and a way to hold the
 * lock. Memory is never released. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *at, *end;

void hold_allocator(void);

void hold_allocator(void)
{
    pthread_mutex_lock(&lock);
}

static void *take(size_t alignment, size_t bytes)
{
    pthread_mutex_lock(&lock);
    alignment = alignment < 16 ? 16 : alignment;
    uint8_t *block = (uint8_t *)(((uintptr_t)at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (at == NULL || block + bytes > end) {
        size_t room = bytes + alignment + 4096 > (size_t)64 << 20 ? bytes + alignment + 4096 : (size_t)64 << 20;
        at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        end = at + room;
        block = (uint8_t *)(((uintptr_t)at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1));
    }
    at = block + bytes;
    pthread_mutex_unlock(&lock);
    ((size_t *)(void *)block)[-1] = bytes;
    return block;
}

void *malloc(size_t bytes)
{
    return take(16, bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return take(16, count * bytes); /* fresh from the kernel: zero */
}

void *realloc(void *old, size_t bytes)
{
    void *block = take(16, bytes);
    if (old != NULL) {
        size_t had = ((size_t *)old)[-1];
        memcpy(block, old, had < bytes ? had : bytes);
    }
    return block;
}

void free(void *block)
{
    (void)block;
}

void *memalign(size_t alignment, size_t bytes)
{
    return take(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return take(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    *out = take(alignment, bytes);
    return 0;
}
