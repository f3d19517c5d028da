/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_bytes.c - readable pages between two pages without access rights. */
#include "guarded_bytes.h"

#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>

enum {
    PAGE_BYTES = 4096
};

void guarded_bytes_init(struct guarded_bytes *guarded, size_t bytes_max)
{
    size_t inner = (bytes_max + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    guarded->mapping_bytes = inner + 2 * PAGE_BYTES;
    guarded->mapping = mmap(NULL, guarded->mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(guarded->mapping, MAP_FAILED);
    assert_int_equal(mprotect(guarded->mapping + PAGE_BYTES, inner, PROT_READ | PROT_WRITE), 0);
    guarded->at = guarded->mapping + PAGE_BYTES;
    guarded->bytes = inner;
}

void guarded_bytes_set(struct guarded_bytes *guarded, const void *content, size_t bytes)
{
    assert_true(bytes <= guarded->mapping_bytes - 2 * PAGE_BYTES);
    guarded->at = guarded->mapping + guarded->mapping_bytes - PAGE_BYTES - bytes;
    guarded->bytes = bytes;
    memcpy(guarded->at, content, bytes);
}

void guarded_bytes_finish(struct guarded_bytes *guarded)
{
    assert_int_equal(munmap(guarded->mapping, guarded->mapping_bytes), 0);
}
