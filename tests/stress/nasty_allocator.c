/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_allocator.c - an allocator of the program's own, like those that tested hosts preload or link.
 *
 * It marks the memory that it returns, and ends the program with a message when it gets a pointer that it did not
 * return. It is linked into the second build of the nasty host, whose plugins with RTLD_DEEPBIND use libc's
 * allocator. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t bytes);
void __libc_free(void *block);

static const uint64_t mark = UINT64_C(0x6e617374794d454d);

struct head {
    void *whole;
    size_t bytes;
    uint64_t mark;
    uint64_t unused;
};

static void stop(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0) {
        /* there is no other way to report it */
    }
    abort();
}

static void *make(size_t alignment, size_t bytes)
{
    if (bytes > PTRDIFF_MAX - 2 * alignment - sizeof(struct head)) {
        errno = ENOMEM;
        return NULL;
    }
    char *whole = __libc_malloc(bytes + alignment + sizeof(struct head));
    if (whole == NULL) {
        return NULL;
    }
    uintptr_t at = ((uintptr_t)whole + sizeof(struct head) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    struct head *head = (struct head *)at - 1;
    *head = (struct head){.whole = whole, .bytes = bytes, .mark = mark ^ at};
    return head + 1;
}

static struct head *head_of(void *block)
{
    struct head *head = (struct head *)block - 1;
    if (head->mark != (mark ^ (uintptr_t)block)) {
        stop("nasty_host: ERROR allocator: it was handed back what it did not give\n");
    }
    return head;
}

void *malloc(size_t bytes)
{
    return make(16, bytes);
}

void free(void *block)
{
    if (block != NULL) {
        struct head *head = head_of(block);
        head->mark = 0;
        __libc_free(head->whole);
    }
}

void *calloc(size_t count, size_t bytes)
{
    size_t whole;
    if (__builtin_mul_overflow(count, bytes, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    void *block = make(16, whole);
    return block != NULL ? memset(block, 0, whole) : NULL;
}

void *realloc(void *block, size_t bytes)
{
    if (block == NULL) {
        return malloc(bytes);
    }
    if (bytes == 0) {
        free(block);
        return NULL;
    }
    size_t old = head_of(block)->bytes;
    void *other = make(16, bytes);
    if (other != NULL) {
        memcpy(other, block, old < bytes ? old : bytes);
        free(block);
    }
    return other;
}

void *memalign(size_t alignment, size_t bytes);
void *memalign(size_t alignment, size_t bytes)
{
    return make(alignment < 16 ? 16 : alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **block_out, size_t alignment, size_t bytes)
{
    void *block = memalign(alignment, bytes);
    if (block == NULL) {
        return ENOMEM;
    }
    *block_out = block;
    return 0;
}

size_t malloc_usable_size(void *block);
size_t malloc_usable_size(void *block)
{
    return block != NULL ? head_of(block)->bytes : 0;
}
