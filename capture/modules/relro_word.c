/* SPDX-License-Identifier: Apache-2.0 */
/* relro_word.c - stores to single words in pages that the loader makes read-only after relocation. */
#include "relro_word.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "elf_image.h"
#include "loaded_object.h"
#include "order.h"
#include "process_state.h"
#include "raw_syscall.h"

enum {
    WAIT_NS = 100000,
    WAITS = 10000, /* one second */
};

static uint64_t relro_page_bytes;
static uint32_t is_taken;
SBX_OF_ONE_PROCESS(is_taken); /* a thread of the parent may be storing */

SBX_HOOK_SAFE bool sbx_word_is_writable(const void *word)
{
    uint32_t nobody = 0;
    long operation = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
    return sbx_raw_syscall(SYS_futex, (long)(uintptr_t)&nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
                           (long)(uintptr_t)word, operation) >= 0;
}

static bool try_to_take(void)
{
    uint32_t nobody = 0;
    return sbx_cas_acq_rel(&is_taken, &nobody,
                           1); /* order: acq_rel relro.is_taken - pages are as the last one left them */
}

void sbx_relro_prepare(uint64_t page_bytes)
{
    relro_page_bytes = page_bytes;
}

bool sbx_relro_begin(void)
{
    const struct timespec pause = {0, WAIT_NS};
    for (int i = 0; i < WAITS; i++) {
        if (try_to_take()) {
            return true;
        }
        (void)sbx_raw_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)(uintptr_t)&pause, 0, 0, 0);
    }
    return false;
}

void sbx_relro_end(void)
{
    sbx_store_release(&is_taken, 0); /* order: release relro.is_taken */
}

/* Is the word in the pages of its module that the loader made read-only? */
static bool is_in_relro(const uintptr_t *word)
{
    uint64_t begin, end, address = (uint64_t)(uintptr_t)word;
    const struct link_map *map = sbx_loaded_object(word, &begin, &end);
    struct sbx_elf_image image;
    return map != NULL && sbx_elf_image_read_mapped(&image, map) &&
           address >= (image.relro_begin & ~(relro_page_bytes - 1)) &&
           address < (image.relro_end & ~(relro_page_bytes - 1));
}

/* This calls the kernel directly, because the hook of mprotect() counts the program's calls. On a thread with a seccomp
 * filter it does nothing, because filters are not checked for this system call on threads of the program. */
static bool protect(uintptr_t page, int protection)
{
    return sbx_raw_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) == 0 &&
           sbx_raw_syscall(SYS_mprotect, (long)page, (long)relro_page_bytes, protection, 0, 0, 0) == 0;
}

SBX_HOOK_SAFE bool sbx_relro_store(uintptr_t *word, uintptr_t value)
{
    uintptr_t page = (uintptr_t)word & ~(uintptr_t)(relro_page_bytes - 1);
    bool is_stored = false;
    if (relro_page_bytes == 0 || !try_to_take()) {
        return false;
    }
    if (sbx_word_is_writable(word)) {
        sbx_store_release(word, value); /* release: callers on other threads load it as a code address */
        is_stored = true;
    } else if (is_in_relro(word) && protect(page, PROT_READ | PROT_WRITE)) {
        sbx_store_release(word, value); /* as above */
        (void)protect(page, PROT_READ);
        is_stored = true;
    }
    sbx_relro_end();
    return is_stored;
}
