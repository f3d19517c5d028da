/* SPDX-License-Identifier: Apache-2.0 */
/* locked_memory.c - the limit, the right to exceed it, and the modules that call mlockall(). */
#include "locked_memory.h"

#include <link.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf_image.h"
#include "loader_visit.h"

#define LARGE_LIMIT ((rlim_t)256 << 20) /* our mappings are a small part of it */

static bool may_lock_without_limit(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    memset(sets, 0, sizeof sets);
    return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & (1u << CAP_IPC_LOCK)) != 0;
}

static bool names_it(const struct sbx_elf_image *image, const ElfW(Rela) * table, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(table[i].r_info)];
        if (symbol->st_shndx == SHN_UNDEF && strcmp(image->strings + symbol->st_name, "mlockall") == 0) {
            return true;
        }
    }
    return false;
}

static int look_at_module(struct dl_phdr_info *info, size_t bytes, void *unused)
{
    struct sbx_elf_image image;
    (void)bytes;
    (void)unused;
    return sbx_elf_image_read(&image, info) &&
           (names_it(&image, image.jump_relocations, image.jump_bytes) ||
            names_it(&image, image.relocations + image.relative_count, /* the relative ones have no names */
                     image.relocation_bytes - image.relative_count * sizeof *image.relocations));
}

/* How many modules were ever loaded; 0: the C library does not report this. */
static int count_loads(struct dl_phdr_info *info, size_t bytes, void *loads)
{
    *(uint64_t *)loads =
        bytes >= offsetof(struct dl_phdr_info, dlpi_adds) + sizeof info->dlpi_adds ? info->dlpi_adds : 0;
    return 1;
}

bool sbx_may_lock_all_memory(void)
{
    static uint64_t loads_then; /* a forked worker usually has the same modules as its parent */
    static bool is_called;
    struct rlimit limit;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= LARGE_LIMIT || may_lock_without_limit()) {
        return false;
    }
    uint64_t loads = 0;
    sbx_loader_visit_begin(); /* in a late start the program's threads run meanwhile, and may fork */
    (void)sbx_loader_visit_each(count_loads, &loads);
    if (loads == 0 || loads != loads_then) {
        is_called = sbx_loader_visit_each(look_at_module, NULL) != 0;
        loads_then = loads;
    }
    sbx_loader_visit_end();
    return is_called;
}
