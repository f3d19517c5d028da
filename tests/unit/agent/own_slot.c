/* SPDX-License-Identifier: Apache-2.0 */
/* own_slot.c - finds the library's GOT slots in the way the loader does. */
#include "own_slot.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf_image.h"
#include "stallbox/stallbox.h"

struct wanted {
    const char *name;
    uintptr_t function;
    unsigned taken;
};

static void take_from(const struct sbx_elf_image *image, const ElfW(Rela) * table, size_t bytes, struct wanted *wanted)
{
    uintptr_t page_bytes = (uintptr_t)getpagesize();
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(table[i].r_info)];
        if (symbol->st_shndx != SHN_UNDEF || strcmp(image->strings + symbol->st_name, wanted->name) != 0) {
            continue;
        }
        uintptr_t slot = image->bias + table[i].r_offset;
        if (mprotect((void *)(slot & ~(page_bytes - 1)), page_bytes, PROT_READ | PROT_WRITE) == 0) {
            *(uintptr_t *)slot = wanted->function;
            wanted->taken++;
        }
    }
}

static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct sbx_elf_image image;
    uint64_t library = (uint64_t)(uintptr_t)stallbox_version();
    bool is_library = false;
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t begin = info->dlpi_addr + header->p_vaddr;
        is_library |= header->p_type == PT_LOAD && library >= begin && library < begin + header->p_memsz;
    }
    if (is_library && sbx_elf_image_read(&image, info)) {
        take_from(&image, image.jump_relocations, image.jump_bytes, context);
        take_from(&image, image.relocations, image.relocation_bytes, context);
    }
    return is_library;
}

void own_slot_take(const char *name, void (*function)(void))
{
    struct wanted wanted = {name, (uintptr_t)function, 0};
    dl_iterate_phdr(look_at, &wanted);
    if (wanted.taken == 0) {
        fprintf(stderr, "own_slot: the library does not call %s\n", name);
        exit(EXIT_FAILURE);
    }
}
