/* SPDX-License-Identifier: Apache-2.0 */
/* every_symbol.c - a library to be preloaded. It defines every function that libstallbox.so imports (every_symbol.sh
 * writes them), and notes whether the caller is libstallbox.so. It calls no function itself, because that call would
 * come back to it. */
#include "every_symbol.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

#include "elf_image.h"
#include "raw_syscall.h"

extern __attribute__((visibility("hidden"))) const uint64_t every_symbol_count;
extern __attribute__((visibility("hidden"))) const char *const every_symbol_names[];
extern char **environ;

extern uint64_t every_symbol_begin, every_symbol_bytes, every_symbol_next[EVERY_SYMBOLS_MAX];
extern struct every_symbol *every_symbol_counts;
extern void every_symbol_find(uint64_t number);

__attribute__((visibility("hidden"))) uint64_t every_symbol_begin, every_symbol_bytes;
__attribute__((visibility("hidden"))) uint64_t every_symbol_next[EVERY_SYMBOLS_MAX];
__attribute__((visibility("hidden"))) struct every_symbol *every_symbol_counts;

static bool begins_with(const char *text, const char *beginning)
{
    while (*beginning != 0 && *text == *beginning) {
        text++;
        beginning++;
    }
    return *beginning == 0;
}

static const char *file_of(const char *path)
{
    const char *name = path;
    for (; *path != 0; path++) {
        name = *path == '/' ? path + 1 : name;
    }
    return name;
}

static void open_file(void)
{
    static const char variable[] = EVERY_SYMBOL_FILE "=";
    for (char **at = environ; at != NULL && *at != NULL; at++) {
        if (!begins_with(*at, variable)) {
            continue;
        }
        long file = sbx_raw_open(*at + sizeof variable - 1, O_RDWR | O_CLOEXEC);
        long pages = sbx_raw_syscall(SYS_mmap, 0, EVERY_SYMBOLS_MAX * sizeof(struct every_symbol),
                                     PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file >= 0 && (pages & 0xfff) == 0) {
            every_symbol_counts = (struct every_symbol *)pages; /* NOLINT: the kernel's word */
        }
        sbx_raw_close((int)file);
        return;
    }
}

__attribute__((visibility("hidden"))) void every_symbol_find(uint64_t number)
{
    const char *name = every_symbol_names[number];
    uint64_t found = 0;
    for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
        struct sbx_elf_image image;
        const char *file = file_of(map->l_name);
        if (begins_with(file, "libstallbox.so") && sbx_elf_image_read_mapped(&image, map)) {
            every_symbol_begin = image.code_begin;
            every_symbol_bytes = image.code_end - image.code_begin;
        }
        if (found != 0 || !(begins_with(file, "libc.so.6") || begins_with(file, "ld-linux")) ||
            !sbx_elf_image_read_mapped(&image, map)) {
            continue;
        }
        const ElfW(Sym) *symbol = sbx_elf_image_symbol(&image, name, sbx_gnu_hash(name), NULL);
        if (symbol != NULL) {
            found = image.bias + symbol->st_value;
            found = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ? ((uint64_t(*)(void))(uintptr_t)found)() : found;
        }
    }
    if (every_symbol_counts == NULL) {
        open_file();
    }
    for (size_t i = 0; every_symbol_counts != NULL && i < sizeof every_symbol_counts->name - 1 && name[i] != 0; i++) {
        every_symbol_counts[number].name[i] = name[i];
    }
    if (found == 0) {
        __builtin_trap();
    }
    __atomic_store_n(&every_symbol_next[number], found, __ATOMIC_RELEASE);
}
