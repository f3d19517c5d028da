/* SPDX-License-Identifier: Apache-2.0 */
/* relro_module.c - a library to be preloaded that changes the pages that the loader made read-only, before other code
 * reads them. It makes them writable, as programs do that patch themselves; with IS_SEALED it seals them (mseal(2),
 * Linux 6.10). */
#include <link.h>
#include <poll.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    MSEAL = 462
};

int relro_is_ready(void); /* 0: not possible on this machine */
int relro_sleep(void);    /* by a call that is a capture point */
void relro_store(void);   /* into those pages */

static uintptr_t begin, end;
static int is_ready;

static int find_relro(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    uintptr_t here = (uintptr_t)&begin, relro_begin = 0, relro_end = 0;
    int is_here = 0;
    (void)bytes, (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t address = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_GNU_RELRO) {
            relro_begin = address & ~(uintptr_t)(getpagesize() - 1);
            relro_end = (address + header->p_memsz) & ~(uintptr_t)(getpagesize() - 1);
        } else if (header->p_type == PT_LOAD && here >= address && here < address + header->p_memsz) {
            is_here = 1;
        }
    }
    if (is_here) {
        begin = relro_begin;
        end = relro_end;
    }
    return is_here;
}

__attribute__((constructor)) static void prepare(void)
{
    dl_iterate_phdr(find_relro, NULL);
    if (begin < end) {
#ifdef IS_SEALED
        is_ready = syscall(MSEAL, begin, end - begin, 0L) == 0;
#else
        is_ready = mprotect((void *)begin, end - begin, PROT_READ | PROT_WRITE) == 0;
#endif
    }
}

int relro_is_ready(void)
{
    return is_ready;
}

int relro_sleep(void)
{
    return poll(NULL, 0, 10);
}

void relro_store(void)
{
    volatile uintptr_t *word = (volatile uintptr_t *)(end - sizeof(uintptr_t));
    *word = *word;
}
