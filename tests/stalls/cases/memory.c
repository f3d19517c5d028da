/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the allocator, and pages that are not in memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stall.h"

#define LASTS_NS (stall_ms * INT64_C(1000000))
#define PAGE     4096u

static STALL_FUNCTION void copy_strings(int n)
{
    enum {
        KEPT = 4096
    };
    static char *kept[KEPT];
    uint32_t seed = (uint32_t)n;
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (int i = 0; i < 2000; i++) {
            seed = seed * 1664525 + 1013904223;
            char **slot = &kept[seed >> 20];
            free(*slot);
            *slot = malloc(1100 + (seed >> 8 & 4095));
        }
    }
}

static STALL_FUNCTION void touch_arena(int n)
{
    enum {
        BYTES = 64 << 20
    };
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        char *arena = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (arena == MAP_FAILED) {
            abort();
        }
        madvise(arena, BYTES, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < BYTES; at += PAGE) {
            arena[at] = (char)n;
        }
        munmap(arena, BYTES);
    }
}

static STALL_FUNCTION void recycle_pages(int n)
{
    enum {
        BYTES = 1 << 20
    };
    char *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        abort();
    }
    madvise(pages, BYTES, MADV_NOHUGEPAGE);
    for (int64_t until_ns = stall_now_ns() + LASTS_NS; stall_now_ns() < until_ns;) {
        for (size_t at = 0; at < BYTES; at += PAGE) {
            pages[at] = (char)n;
        }
        madvise(pages, BYTES, MADV_DONTNEED);
    }
    munmap(pages, BYTES);
}

/* ---- a mapped file whose pages must come from the disk ---- */

static const size_t cold_bytes = 192u << 20;

static void make_cold_file(void)
{
    static char block[1 << 20];
    char path[300];
    snprintf(path, sizeof path, "%s/cold", stall_folder());
    int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
    for (size_t at = 0; at < cold_bytes; at += sizeof block) {
        if (write(file, block, sizeof block) < 0) {
            abort();
        }
    }
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    close(file);
}

static STALL_FUNCTION void walk_cold_file(int n)
{
    char path[300];
    snprintf(path, sizeof path, "%s/cold", stall_folder());
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int64_t until_ns = stall_now_ns() + LASTS_NS;
    uint32_t seed = (uint32_t)n;
    while (stall_now_ns() < until_ns) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        const char *pages = mmap(NULL, cold_bytes, PROT_READ, MAP_SHARED, file, 0);
        if (pages == MAP_FAILED) {
            abort();
        }
        madvise((void *)(uintptr_t)pages, cold_bytes, MADV_RANDOM);
        for (int i = 0; i < 3000 && stall_now_ns() < until_ns; i++) {
            seed = seed * 1664525 + 1013904223;
            stall_sink += (uint64_t)pages[(size_t)seed % cold_bytes];
        }
        munmap((void *)(uintptr_t)pages, cold_bytes);
    }
    close(file);
}

const struct stall stalls_memory[] = {
    {.name = "memory_churn", .message = copy_strings},
    {.name = "memory_fresh_pages", .message = touch_arena},
    {.name = "memory_dontneed", .message = recycle_pages},
    {.name = "memory_cold_file", .prepare = make_cold_file, .message = walk_cold_file},
    {.name = NULL},
};
