/* SPDX-License-Identifier: Apache-2.0 */
/* own_bindings.c - binds the library's own slots anew at load (own_bindings.h). */
#include "own_bindings.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "elf_image.h"
#include "libc_symbols.h"
#include "marks.h"
#include "raw_syscall.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

enum {
    LIBRARIES_MAX = 6, /* libc and the loader; libpthread, libdl and librt before glibc 2.34 */
};

/* Every sanitizer's run-time defines it (sanitizer/common_interface_defs.h). Only its presence is checked. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static struct sbx_elf_image libraries[LIBRARIES_MAX];
static uint32_t library_count;
static uint32_t foreign;

uint32_t sbx_own_bindings_foreign(void)
{
    return foreign;
}

static bool is_code_of(const struct sbx_elf_image *image, uint64_t address)
{
    return address >= image->code_begin && address < image->code_end;
}

bool sbx_is_of_c_library(const void *code)
{
    for (uint32_t i = 0; i < library_count; i++) {
        if (is_code_of(&libraries[i], (uint64_t)(uintptr_t)code)) {
            return true;
        }
    }
    return false;
}

/* Does `text` begin with `beginning`? */
static bool begins_with(const char *text, const char *beginning)
{
    while (*beginning != 0 && *text == *beginning) {
        text++;
        beginning++;
    }
    return *beginning == 0;
}

static bool is_same_name(const char *one, const char *other)
{
    return begins_with(one, other) && begins_with(other, one);
}

/* Is this module a part of the C library? Its files have the names that programs ask for. musl is one file, which is
 * also the loader. */
static bool is_part_of_c_library(const struct link_map *map)
{
#ifdef __GLIBC__
    static const char *const parts[] = {"libc.so.6",  "libpthread.so.0", "libdl.so.2",
                                        "librt.so.1", "ld-linux",        "ld64.so"};
#else
    static const char *const parts[] = {"ld-musl-", "libc.musl-", "libc.so"};
#endif
    const char *name = map->l_name;
    for (const char *at = name; at != NULL && *at != 0; at++) {
        name = *at == '/' ? at + 1 : name;
    }
    for (size_t i = 0; name != NULL && i < SBX_COUNT_OF(parts); i++) {
        if (begins_with(name, parts[i])) {
            return true;
        }
    }
    return false;
}

static bool has_us(const struct link_map *list)
{
    while (list != NULL && list->l_ld != _DYNAMIC) {
        list = list->l_next;
    }
    return list != NULL;
}

/* The loader's list that contains this library. There may be other lists (dlmopen(3)). The constructor holds the
 * loader's lock, or runs before there is a second thread, so no module comes or goes meanwhile. The list is read where
 * debuggers look for it, because dl_iterate_phdr() may be replaced by another library. */
static const struct link_map *our_list(void)
{
    const struct r_debug *space = sbx_loader_debug();
    while (space != NULL && !has_us(space->r_map)) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* from glibc 2.35 on, the next list follows */
        space =
            space->r_version >= 2 ? (const void *)((const struct r_debug_extended *)(const void *)space)->r_next : NULL;
#else
        space = NULL;
#endif
    }
    return space != NULL ? space->r_map : NULL;
}

/* ---- one function ---- */

typedef uint64_t auxiliary_function(unsigned long kind);

/* An indirect function: the C library has several versions of it and chooses one at load time. */
static uint64_t choose(uint64_t resolver, auxiliary_function *auxiliary)
{
#if defined( \
    __aarch64__) /* the psABI's "GNU C library IFUNC interface": the features in words of 64 bits behind a size */
    enum {
        ARGUMENT_FOLLOWS = 62,
        WORDS = 3
    };
    const uint64_t features[WORDS] = {WORDS * sizeof(uint64_t), auxiliary(AT_HWCAP), auxiliary(AT_HWCAP2)};
    return ((uint64_t(*)(uint64_t, const uint64_t *))(uintptr_t)resolver)(features[1] | UINT64_C(1) << ARGUMENT_FOLLOWS,
                                                                          features);
#else
    (void)auxiliary;
    return ((uint64_t(*)(void))(uintptr_t)resolver)();
#endif
}

static uint64_t find(const char *name, const char *version, auxiliary_function *auxiliary)
{
    uint32_t hash = sbx_gnu_hash(name);
    for (uint32_t i = 0; i < library_count; i++) {
        const ElfW(Sym) *symbol = sbx_elf_image_symbol(&libraries[i], name, hash, version);
        if (symbol != NULL) {
            uint64_t address = libraries[i].bias + symbol->st_value;
            return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ? choose(address, auxiliary) : address;
        }
    }
    return 0;
}

/* ---- what stays as the program has bound it ---- */

/* A sanitizer's run-time keeps a block for each thread. Its allocator looks for that block when the C library allocates
 * inside a call of the agent. So the agent's threads must be made and joined in the way that the sanitizer knows. Other
 * libraries that replace pthread_create() count or prepare threads that are to run the program's code, which the
 * agent's threads do not do. */
static bool stays(const char *name)
{
    static const char *const of_threads[] = {"pthread_create", "pthread_join", "pthread_detach"};
    for (size_t i = 0; i < SBX_COUNT_OF(of_threads); i++) {
        if (is_same_name(name, of_threads[i])) {
            return true;
        }
    }
    return false;
}

/* ---- all of them ---- */

struct rebinding {
    const struct sbx_elf_image *us;
    auxiliary_function *auxiliary;
    uint64_t page_bytes;
    bool has_sanitizer; /* a sanitizer's run-time is in the process */
    bool is_open;       /* this library's RELRO pages are writable now */
};

static bool store(struct rebinding *work, uint64_t slot, uint64_t value)
{
    uint64_t begin = work->us->relro_begin & ~(work->page_bytes - 1);
    uint64_t end = work->us->relro_end & ~(work->page_bytes - 1);
    if (slot >= begin && slot < end && !work->is_open) {
        if (sbx_raw_syscall(SYS_mprotect, (long)begin, (long)(end - begin), PROT_READ | PROT_WRITE, 0, 0, 0) != 0) {
            return false;
        }
        work->is_open = true;
    }
    *(uint64_t *)(uintptr_t)slot = value;
    return true;
}

static void rebind(struct rebinding *work, const ElfW(Rela) * table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number = (uint32_t)ELF64_R_SYM(table[i].r_info), type = (uint32_t)ELF64_R_TYPE(table[i].r_info);
        uint64_t slot = work->us->bias + table[i].r_offset, now = *(const uint64_t *)(uintptr_t)slot;
        if ((type != SBX_RELOCATION_JUMP && type != SBX_RELOCATION_DATA) ||
            work->us->symbols[number].st_shndx != SHN_UNDEF || now == 0 ||
            sbx_is_of_c_library((const void *)(uintptr_t)now)) {
            continue;
        }
        const char *name = work->us->strings + work->us->symbols[number].st_name;
        if (work->has_sanitizer && stays(name)) {
            continue;
        }
        uint64_t own = find(name, sbx_elf_image_wanted_version(work->us, number), work->auxiliary);
        bool is_function = ELF64_ST_TYPE(work->us->symbols[number].st_info) == STT_FUNC;
        if ((own == 0 && is_function) || (own != 0 && own != now && !store(work, slot, own))) {
            foreign++;
        }
    }
}

/* Runs before every other constructor of this library. */
__attribute__((constructor(101))) static void bind_to_c_library(void)
{
    const struct link_map *list = sbx_libc_is_ours() ? our_list() : NULL;
    struct sbx_elf_image us;
    bool is_found = false;
    for (const struct link_map *map = list; map != NULL; map = map->l_next) {
        struct sbx_elf_image *image = &libraries[library_count];
        if (map->l_ld == _DYNAMIC) {
            is_found = map->l_prev != NULL && sbx_elf_image_read_mapped(&us, map); /* the first is the program */
        } else if (library_count < LIBRARIES_MAX && is_part_of_c_library(map) &&
                   sbx_elf_image_read_mapped(image, map)) {
            library_count++;
        }
    }
    struct rebinding work = {.us = &us};
    work.auxiliary = (auxiliary_function *)(uintptr_t)find("getauxval", NULL, NULL);
    if (!is_found || work.auxiliary == NULL || IS_SANITIZED) {
        return;
    }
    work.page_bytes = work.auxiliary(AT_PAGESZ); /* 4, 16 or 64 KiB on aarch64 */
    work.has_sanitizer = &__sanitizer_set_death_callback != NULL;
    rebind(&work, us.jump_relocations, us.jump_bytes / sizeof *us.relocations);
    rebind(&work, us.relocations + us.relative_count, us.relocation_bytes / sizeof *us.relocations - us.relative_count);
    if (work.is_open) {
        uint64_t begin = us.relro_begin & ~(work.page_bytes - 1), end = us.relro_end & ~(work.page_bytes - 1);
        (void)sbx_raw_syscall(SYS_mprotect, (long)begin, (long)(end - begin), PROT_READ, 0, 0, 0);
    }
}
