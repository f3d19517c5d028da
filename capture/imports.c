/* SPDX-License-Identifier: Apache-2.0 */
/* imports.c - compares the names in the modules' relocations with the names that are looked for. */
#include "imports.h"

#include <string.h>

#include "elf_image.h"
#include "loader_visit.h"
#include "own_bindings.h"
#include "point.h"

enum {
    FILTER_BITS = 4096, /* for some hundred names; one in forty other names is compared with all of them */
};

struct search {
    uint64_t groups;
    const char *names;                 /* each ends with a zero; one more zero ends the list */
    uint64_t filter[FILTER_BITS / 64]; /* bits by hash of the name */
};

static void add(struct search *search, const char *name)
{
    uint32_t bit = sbx_gnu_hash(name) % FILTER_BITS;
    search->filter[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool is_asked_for(const struct search *search, const struct sbx_point *point)
{
    return (search->groups & SBX_POINT_BIT(point->group)) != 0;
}

static void fill_filter(struct search *search)
{
    for (const char *name = search->names; *name != 0; name += strlen(name) + 1) {
        add(search, name);
    }
    for (size_t list = 0; list < sbx_point_list_count; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count; i++) {
            if (is_asked_for(search, &sbx_point_lists[list]->points[i])) {
                add(search, sbx_point_lists[list]->points[i].symbol);
            }
        }
    }
}

static bool is_looked_for(const struct search *search, const char *name)
{
    uint32_t bit = sbx_gnu_hash(name) % FILTER_BITS;
    if ((search->filter[bit / 64] >> bit % 64 & 1) == 0) {
        return false;
    }
    for (const char *other = search->names; *other != 0; other += strlen(other) + 1) {
        if (strcmp(other, name) == 0) {
            return true;
        }
    }
    for (size_t list = 0; list < sbx_point_list_count; list++) {
        for (size_t i = 0; i < sbx_point_lists[list]->count; i++) {
            const struct sbx_point *point = &sbx_point_lists[list]->points[i];
            if (is_asked_for(search, point) && strcmp(point->symbol, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static bool names_one(const struct search *search, const struct sbx_elf_image *image, const ElfW(Rela) * table,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ElfW(Sym) *symbol = &image->symbols[ELF64_R_SYM(table[i].r_info)];
        if (is_looked_for(search, image->strings + symbol->st_name)) {
            return true;
        }
    }
    return false;
}

static bool is_ours_or_the_c_librarys(const struct sbx_elf_image *image)
{
    uint64_t here = (uint64_t)(uintptr_t)&sbx_imports_any;
    return (here >= image->code_begin && here < image->code_end) ||
           sbx_is_of_c_library((const void *)(uintptr_t)image->code_begin);
}

static int look_at_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
    const struct search *search = context;
    struct sbx_elf_image image;
    (void)bytes;
    return sbx_elf_image_read(&image, info) && !is_ours_or_the_c_librarys(&image) &&
           (names_one(search, &image, image.jump_relocations, image.jump_bytes / sizeof *image.relocations) ||
            names_one(search, &image, image.relocations + image.relative_count, /* the relative ones have no names */
                      image.relocation_bytes / sizeof *image.relocations - image.relative_count));
}

bool sbx_imports_any(uint64_t groups, const char *names)
{
    struct search search = {.groups = groups, .names = names};
    fill_filter(&search);
    return sbx_loader_visit_each(look_at_module, &search) != 0;
}
