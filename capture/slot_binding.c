/* SPDX-License-Identifier: Apache-2.0 */
/* slot_binding.c - finds the definition that a slot leads to, bound or not (System V ABI, "Shared Object Dependencies";
 * dlopen(3)). */
#include "slot_binding.h"

#include <string.h>

#include "loader_visit.h"
#include "own_bindings.h"
#include "points_by_name.h"

enum {
    MODULES_MAX = 2048
};

/* A module, as other modules name it. */
struct loaded_module {
    const ElfW(Dyn) * dynamic;
    const char *strings;
    const char *name;
    uint32_t hash;
    bool is_of_start; /* needed by the program, directly or through other modules */
    bool is_followed;
};

static struct loaded_module loaded[MODULES_MAX];
static uint32_t point_versions[SBX_POINTS_MAX]; /* hash of a version that is known to be the original's; 0: none yet */
static uint32_t version_finds;                  /* value of sbx_point_finds() for these */

/* ---- what was bound ---- */

static uintptr_t original_of(uint32_t point)
{
    return (uintptr_t)*sbx_point_at(point)->original;
}

/* Find the module that defines the point's original, and store it in walk->home: the module that holds its code. If
 * libc chooses a function at load time and its code lies in the vdso, it is the first module that has the name. */
static bool find_home(uint32_t point, struct sbx_binding_walk *walk)
{
    uintptr_t original = original_of(point);
    const char *name = sbx_point_at(point)->symbol;
    uint32_t hash = sbx_point_hash(point);
    if (original >= walk->home.code_begin && original < walk->home.code_end &&
        sbx_elf_image_find(&walk->home, name, hash, NULL) != 0) {
        return true;
    }
    bool is_found = sbx_find_module_at(original, &walk->home);
    if (!is_found || sbx_elf_image_find(&walk->home, name, hash, NULL) == 0) {
        struct sbx_elf_image by_name;
        uintptr_t address;
        if (sbx_find_definition(point, &by_name, &address)) {
            walk->home = by_name;
            is_found = true;
        }
    }
    return is_found;
}

/* Does the version of the point's name that this module wants lead to the definition that our hook forwards to? */
static bool is_same_version(const struct sbx_elf_image *image, uint32_t symbol, uint32_t point,
                            struct sbx_binding_walk *walk)
{
    const char *version = sbx_elf_image_wanted_version(image, symbol);
    uint32_t version_hash = version != NULL ? sbx_gnu_hash(version) : 0;
    if (version_finds != sbx_point_finds()) {
        version_finds = sbx_point_finds();
        memset(point_versions, 0, sizeof point_versions);
    }
    if (version == NULL || version_hash == point_versions[point]) {
        return true;
    }
    if (!find_home(point, walk)) {
        return false;
    }
    const char *name = sbx_point_at(point)->symbol;
    uint32_t hash = sbx_point_hash(point);
    uint64_t wanted = sbx_elf_image_find(&walk->home, name, hash, version);
    if (wanted == 0 || (wanted != original_of(point) && wanted != sbx_elf_image_find(&walk->home, name, hash, NULL))) {
        return false;
    }
    point_versions[point] = version_hash;
    return true;
}

/* Is the slot unbound, with `now` being the code that calls the loader? An address in the module itself may also be
 * that of its own function. So the code at that address decides. In the PLTs of x86-64 (psABI 5.2; with IBT after an
 * endbr64) it pushes the number of the relocation, or it is mold's header of the PLT, which saves r11. On aarch64 it is
 * the PLT's header, which saves x16 (with BTI after a bti c). No compiler saves a register that calls may change. */
static bool is_unbound(const struct sbx_elf_image *image, const ElfW(Rela) * relocation, uintptr_t now)
{
    if (ELF64_R_TYPE(relocation->r_info) != SBX_RELOCATION_JUMP || now < image->code_begin ||
        now + 16 > image->code_end) {
        return false;
    }
#if defined(__x86_64__)
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, save_r11[] = {0x41, 0x53, 0xff, 0x35};
    enum {
        PUSH_NUMBER = 0x68
    };
    const uint8_t *code = (const uint8_t *)now;
    code += memcmp(code, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
    uint32_t number;
    memcpy(&number, code + 1, sizeof number);
    return (code[0] == PUSH_NUMBER && number == (uint64_t)(relocation - image->jump_relocations)) ||
           memcmp(code, save_r11, sizeof save_r11) == 0;
#elif defined(__aarch64__)
    const uint32_t bti_c = 0xd503245f, save_x16_x30 = 0xa9bf7bf0; /* stp x16, x30, [sp, #-16]! */
    const uint32_t *code = (const uint32_t *)now;
    return now % 4 == 0 && code[code[0] == bti_c] == save_x16_x30;
#else
    return false;
#endif
}

/* ---- what an unbound slot will be bound to ---- */

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int list_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct sbx_binding_walk *walk = context;
    struct sbx_elf_image image;
    (void)bytes;
    (void)sbx_elf_image_read(&image, info); /* a module without code may still need others */
    if (image.dynamic != NULL && image.strings != NULL && walk->loaded_count < MODULES_MAX) {
        const char *name = image.soname != NULL ? image.soname : file_of(info->dlpi_name);
        loaded[walk->loaded_count++] =
            (struct loaded_module){image.dynamic, image.strings, name, sbx_gnu_hash(name), false, false};
    }
    return 0;
}

static void reach(const char *name, const struct sbx_binding_walk *walk)
{
    uint32_t hash = sbx_gnu_hash(name);
    for (uint32_t i = 0; i < walk->loaded_count; i++) {
        struct loaded_module *module = &loaded[i];
        if (module->hash == hash && strcmp(module->name, name) == 0) {
            module->is_of_start = true;
            return;
        }
    }
}

/* Find the modules that the program needs, directly or through other modules. */
static void find_start(struct sbx_binding_walk *walk)
{
    sbx_loader_visit_each(list_module, walk);
    bool is_more = walk->loaded_count != 0;
    if (is_more) {
        loaded[0].is_of_start = true; /* the program is first */
    }
    while (is_more) {
        is_more = false;
        for (uint32_t i = 0; i < walk->loaded_count; i++) {
            struct loaded_module *module = &loaded[i];
            if (!module->is_of_start || module->is_followed) {
                continue;
            }
            is_more = module->is_followed = true;
            for (const ElfW(Dyn) *entry = module->dynamic; entry->d_tag != DT_NULL; entry++) {
                if (entry->d_tag == DT_NEEDED) {
                    reach(file_of(module->strings + entry->d_un.d_val), walk);
                }
            }
        }
    }
}

static bool is_of_start(const struct sbx_elf_image *image, struct sbx_binding_walk *walk)
{
    if (walk->loaded_count == 0) {
        find_start(walk);
    }
    for (uint32_t i = 0; i < walk->loaded_count; i++) {
        if (loaded[i].dynamic == image->dynamic) {
            return loaded[i].is_of_start;
        }
    }
    return false;
}

/* Which modules have a function of the point's name. */
struct definitions {
    uint32_t point;
    bool is_of_module;    /* the original lies in a module, not in the vdso */
    bool is_of_c_library; /* and that module is a part of the C library */
    bool has_c_library;   /* another part of the C library has a definition */
    bool has_others;      /* other modules have definitions */
};

static int count_definition(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct definitions *found = context;
    struct sbx_elf_image image;
    uintptr_t original = original_of(found->point);
    (void)bytes;
    if (!sbx_elf_image_read(&image, info) || sbx_is_vdso(&image)) {
        return 0;
    }
    bool is_of_c_library = sbx_is_of_c_library((const void *)image.code_begin);
    if (original >= image.code_begin && original < image.code_end) {
        found->is_of_module = true;
        found->is_of_c_library = is_of_c_library;
    } else if (sbx_elf_image_find(&image, sbx_point_at(found->point)->symbol, sbx_point_hash(found->point), NULL) !=
               0) {
        found->has_c_library |= is_of_c_library;
        found->has_others |= !is_of_c_library;
    }
    return 0;
}

/* Is this the only definition that the name can be bound to, wherever the loader begins to look? Parts of the C library
 * that have the same name (before glibc 2.34) count as one. */
static bool is_only_definition(uint32_t point)
{
    struct definitions found = {.point = point};
    sbx_loader_visit_each(count_definition, &found);
    return !found.has_others && (!found.has_c_library || !found.is_of_module || found.is_of_c_library);
}

enum sbx_binding sbx_slot_binding(const struct sbx_elf_image *image, const ElfW(Rela) * relocation, uintptr_t now,
                                  uint32_t point, struct sbx_binding_walk *walk)
{
    uintptr_t original = original_of(point);
    uint32_t number = (uint32_t)ELF64_R_SYM(relocation->r_info);
    const ElfW(Sym) *symbol = &image->symbols[number];
    if (now == original) {
        return SBX_BINDING_ORIGINAL;
    }
    if (!is_unbound(image, relocation, now) || !is_same_version(image, number, point, walk)) {
        return SBX_BINDING_FOREIGN;
    }
    if (image->is_symbolic && symbol->st_shndx != SHN_UNDEF) {
        return image->bias + symbol->st_value == original ? SBX_BINDING_ORIGINAL : SBX_BINDING_FOREIGN;
    }
    /* Modules that the program needs come before modules that it loads later, and the original is the first definition
     * there. */
    if ((is_of_start(image, walk) && (!sbx_point_may_come_late(sbx_point_at(point)) ||
                                      (find_home(point, walk) && is_of_start(&walk->home, walk)))) ||
        is_only_definition(point)) {
        return SBX_BINDING_ORIGINAL;
    }
    return SBX_BINDING_OPEN;
}
