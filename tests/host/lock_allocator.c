/* SPDX-License-Identifier: Apache-2.0 */
/* lock_allocator.c - a library to be preloaded: an allocator with one lock, as in old allocators, and ways to hold the
 * lock. Memory is never released. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *at, *end;

static __thread bool is_within __attribute__((tls_model("initial-exec")));

void hold_allocator(void);
void call_within_allocator(void (*body)(void));

void hold_allocator(void)
{
    pthread_mutex_lock(&lock);
}

/* As an allocator that calls somebody's code: malloc() of this thread knows that it has the lock, calloc() does not. */
void call_within_allocator(void (*body)(void))
{
    pthread_mutex_lock(&lock);
    is_within = true;
    body();
    is_within = false;
    pthread_mutex_unlock(&lock);
}

static void *take_within(size_t alignment, size_t bytes)
{
    alignment = alignment < 16 ? 16 : alignment;
    uint8_t *block = (uint8_t *)(((uintptr_t)at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (at == NULL || block + bytes > end) {
        size_t room = bytes + alignment + 4096 > (size_t)64 << 20 ? bytes + alignment + 4096 : (size_t)64 << 20;
        at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        end = at + room;
        block = (uint8_t *)(((uintptr_t)at + 16 + alignment - 1) & ~(uintptr_t)(alignment - 1));
    }
    at = block + bytes;
    ((size_t *)(void *)block)[-1] = bytes;
    return block;
}

static void *take(size_t alignment, size_t bytes)
{
    pthread_mutex_lock(&lock);
    void *block = take_within(alignment, bytes);
    pthread_mutex_unlock(&lock);
    return block;
}

void *malloc(size_t bytes)
{
    return is_within ? take_within(16, bytes) : take(16, bytes);
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
