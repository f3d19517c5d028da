/* SPDX-License-Identifier: Apache-2.0 */
/* process_modules.c - reads ELF headers from another process's memory, its unwind rows, and the files that name its
 * functions. */
#include "process_modules.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process_memory.h"
#include "registers.h"

enum {
    HEADERS_MAX = 64, /* program headers per module; linkers write some 15 */
    NOTES_BYTES = 4096,
    PAGE_BYTES = 4096,
    /* limit for one process over all looks; a process that loads and unloads all the time is not followed beyond it */
    MODULES_MAX = 1 << 14
};

/* ---- one module, out of its headers ---- */

static void read_notes(struct sbx_process_module *module, pid_t pid, const Elf64_Phdr *header)
{
    uint8_t notes[NOTES_BYTES];
    size_t bytes = header->p_memsz < sizeof notes ? header->p_memsz : sizeof notes;
    if (sbx_process_memory_read(pid, module->bias + header->p_vaddr, notes, bytes) == 0) {
        module->build_id_bytes = sbx_build_id_of_notes(notes, bytes, module->build_id);
    }
}

/* Describe a module as capture/modules/module_map.c does in its own process, so that both find the same rows in the
 * cache. */
static void describe(struct sbx_process_module *module, pid_t pid, const Elf64_Phdr *headers, unsigned count)
{
    struct sbx_eh_frame_place *place = &module->place;
    const Elf64_Phdr *frames = NULL;
    place->text_begin = UINT64_MAX;
    for (unsigned i = 0; i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
            uint64_t end = header->p_vaddr + header->p_memsz;
            if (header->p_vaddr < place->text_begin) {
                place->text_begin = header->p_vaddr;
                place->text_bytes = SBX_HAS_LINK_REGISTER && (header->p_flags & PF_R) != 0 ? header->p_filesz : 0;
            }
            place->text_end = end > place->text_end ? end : place->text_end;
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            frames = header;
        } else if (header->p_type == PT_NOTE && module->build_id_bytes == 0) {
            read_notes(module, pid, header);
        }
    }
    for (unsigned i = 0; frames != NULL && i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 && frames->p_vaddr >= header->p_vaddr &&
            frames->p_vaddr + frames->p_memsz <= header->p_vaddr + header->p_memsz) {
            place->eh_frame_hdr_address = frames->p_vaddr;
            place->eh_frame_hdr_bytes = frames->p_memsz;
            place->image_address = header->p_vaddr;
            place->image_bytes = header->p_memsz;
        }
    }
}

/* A file that is only read may be mapped as a whole; its code is then not where the headers say. */
static bool has_code_in_place(const struct sbx_process_module *module, const struct sbx_process_maps *maps,
                              const struct sbx_mapping *headers)
{
    const struct sbx_mapping *code = sbx_process_maps_find(maps, module->bias + module->place.text_begin);
    return module->place.text_begin < module->place.text_end && code != NULL && code->is_executable &&
           code->inode == headers->inode && code->device == headers->device;
}

/* Is an ELF image for this machine mapped there for execution? */
static bool read_module(struct sbx_process_module *module, pid_t pid, const struct sbx_process_maps *maps,
                        const struct sbx_mapping *mapping)
{
    Elf64_Ehdr elf;
    Elf64_Phdr headers[HEADERS_MAX];
    if (sbx_process_memory_read(pid, mapping->begin, &elf, sizeof elf) != 0 ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_phentsize != sizeof headers[0] || elf.e_phnum == 0 || elf.e_phnum > HEADERS_MAX ||
        sbx_process_memory_read(pid, mapping->begin + elf.e_phoff, headers, elf.e_phnum * sizeof headers[0]) != 0) {
        return false;
    }
    const char *slash = strrchr(mapping->path, '/');
    size_t name_at = slash != NULL ? (size_t)(slash + 1 - mapping->path) : 0;
    *module = (struct sbx_process_module){.map_begin = mapping->begin,
                                          .map_end = mapping->end,
                                          .device = mapping->device,
                                          .inode = mapping->inode,
                                          .is_mapped = true};
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        /* the first segment: they are in order of address, and the first one has the headers */
        if (headers[i].p_type == PT_LOAD) {
            module->bias = mapping->begin - ((headers[i].p_vaddr - headers[i].p_offset) & ~(uint64_t)(PAGE_BYTES - 1));
            describe(module, pid, headers, elf.e_phnum);
            module->path = has_code_in_place(module, maps, mapping) ? strdup(mapping->path) : NULL;
            module->name = module->path != NULL ? module->path + name_at : NULL;
            return module->path != NULL;
        }
    }
    return false;
}

/* ---- all of them ---- */

static bool is_our_own(pid_t pid)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &status) == 0 && status.st_uid == geteuid();
}

static int compare_ranges(const void *left, const void *right)
{
    const struct sbx_code_range *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Fill `map`, which is empty and has room, with the modules that are mapped. */
static void put_map(struct sbx_process_modules *modules, struct sbx_code_map *map)
{
    map->generation = modules->map != NULL ? modules->map->generation + 1 : 1;
    for (size_t i = 0; i < modules->count; i++) {
        const struct sbx_process_module *module = &modules->modules[i];
        if (!module->is_mapped) {
            continue;
        }
        map->ranges[map->count++] =
            (struct sbx_code_range){.start = module->bias + module->place.text_begin,
                                    .end = module->bias + module->place.text_end,
                                    .bias = module->bias,
                                    .module = (uint32_t)i,
                                    .rows = module->has_rows ? &module->rows : NULL,
                                    .flags = module->rows_were_asked ? 0 : SBX_CODE_ROWS_PENDING};
    }
    qsort(map->ranges, map->count, sizeof map->ranges[0], compare_ranges);
    free(modules->map);
    modules->map = map;
}

static bool is_same_module(const struct sbx_process_module *module, const struct sbx_mapping *mapping)
{
    return module->map_begin == mapping->begin && module->inode == mapping->inode &&
           module->device == mapping->device && strcmp(module->path, mapping->path) == 0;
}

/* Make room for one more module. The rows in the map may move, so a new map must be made afterwards. NULL without
 * memory. */
static struct sbx_process_module *next_place(struct sbx_process_modules *modules)
{
    if (modules->count == modules->room) {
        size_t room = modules->room != 0 ? 2 * modules->room : 64;
        struct sbx_process_module *larger = realloc(modules->modules, room * sizeof *larger);
        if (larger == NULL) {
            return NULL;
        }
        modules->modules = larger;
        modules->room = room;
    }
    return &modules->modules[modules->count];
}

/* Find the modules in `maps`, and the known modules that are no longer there. Returns 1 when something has changed, 0,
 * or -ENOMEM. */
static int take_maps(struct sbx_process_modules *modules, const struct sbx_process_maps *maps)
{
    size_t before = modules->count;
    int has_changed = 0;
    bool *was_mapped = calloc(before + 1, sizeof *was_mapped);
    if (was_mapped == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < before; i++) {
        was_mapped[i] = modules->modules[i].is_mapped;
        modules->modules[i].is_mapped = false;
    }
    for (size_t i = 0; i < maps->count && has_changed >= 0; i++) {
        const struct sbx_mapping *mapping = &maps->mappings[i];
        bool may_be_module = mapping->is_readable && mapping->offset == 0 &&
                             (mapping->inode != 0 || strcmp(mapping->path, "[vdso]") == 0);
        size_t known = 0;
        while (may_be_module && known < before &&
               !(was_mapped[known] && is_same_module(&modules->modules[known], mapping))) {
            known++;
        }
        if (may_be_module && known < before) {
            modules->modules[known].is_mapped = true;
            continue;
        }
        struct sbx_process_module *place = may_be_module ? next_place(modules) : NULL;
        if (may_be_module && (place == NULL || modules->count == MODULES_MAX)) {
            has_changed = -ENOMEM;
        } else if (may_be_module && read_module(place, modules->pid, maps, mapping)) {
            modules->count++;
            has_changed = 1;
        }
    }
    for (size_t i = 0; i < before && has_changed >= 0; i++) {
        has_changed |= was_mapped[i] != modules->modules[i].is_mapped;
    }
    free(was_mapped);
    return has_changed;
}

int sbx_process_modules_refresh(struct sbx_process_modules *modules)
{
    struct sbx_process_maps maps;
    modules->may_refresh = false;
    int result = sbx_process_maps_read(modules->pid, &maps);
    if (result < 0) {
        return result;
    }
    struct sbx_code_map *map = calloc(1, sizeof *map + (modules->count + maps.count + 1) * sizeof map->ranges[0]);
    if (map == NULL) {
        sbx_process_maps_release(&maps);
        return -ENOMEM;
    }
    result = take_maps(modules, &maps);
    put_map(modules, map); /* also when a module could not be added, because the rows may have moved */
    sbx_process_maps_release(&modules->maps);
    modules->maps = maps;
    return result;
}

int sbx_process_modules_read(struct sbx_process_modules *modules_out, pid_t pid, struct sbx_rows_cache *cache,
                             const char *const *symbol_dirs, size_t symbol_dir_count)
{
    *modules_out = (struct sbx_process_modules){.pid = pid,
                                                .cache = cache,
                                                .may_fill_cache = is_our_own(pid),
                                                .symbol_dirs = symbol_dirs,
                                                .symbol_dir_count = symbol_dir_count};
    int result = sbx_process_modules_refresh(modules_out);
    if (result < 0) {
        sbx_process_modules_release(modules_out);
    }
    return result < 0 ? result : 0;
}

void sbx_process_modules_release(struct sbx_process_modules *modules)
{
    for (size_t i = 0; i < modules->count; i++) {
        if (modules->modules[i].has_rows) {
            sbx_unwind_rows_release(&modules->modules[i].rows);
        }
        sbx_symbol_file_close(modules->modules[i].symbols);
        free(modules->modules[i].eh_frame_hdr);
        free(modules->modules[i].path);
    }
    free(modules->modules);
    free(modules->map);
    sbx_process_maps_release(&modules->maps);
    memset(modules, 0, sizeof *modules);
}

/* ---- rows ---- */

struct remote {
    pid_t pid;
    uint64_t bias;
};

/* sbx_module_read */
static int read_remote(void *context, uint64_t address, void *to, size_t bytes)
{
    const struct remote *remote = context;
    return sbx_process_memory_read(remote->pid, remote->bias + address, to, bytes);
}

static bool get_rows(struct sbx_process_modules *modules, struct sbx_process_module *module)
{
    struct sbx_rows_key key = {.build_id_bytes = (uint32_t)module->build_id_bytes,
                               .text_begin = module->place.text_begin,
                               .text_end = module->place.text_end,
                               .eh_frame_hdr_address = module->place.eh_frame_hdr_address,
                               .eh_frame_hdr_bytes = module->place.eh_frame_hdr_bytes};
    memcpy(key.build_id, module->build_id, sizeof key.build_id);
    if (module->place.eh_frame_hdr_bytes == 0) {
        return false;
    }
    if (modules->cache != NULL && sbx_rows_cache_get(modules->cache, &key, &module->rows) == 0) {
        return true;
    }
    struct remote remote = {modules->pid, module->bias};
    struct sbx_eh_frame_copy copy;
    uint32_t skipped = 0;
    if (sbx_eh_frame_copy_take(&copy, &module->place, read_remote, &remote) != 0) {
        return false;
    }
    int result = sbx_unwind_rows_build(&copy.source, &module->rows, &skipped);
    sbx_eh_frame_copy_release(&copy);
    if (result == 0 && modules->cache != NULL && modules->may_fill_cache) {
        (void)sbx_rows_cache_put(modules->cache, &key, &module->rows); /* on failure, the next look builds them again */
    }
    return result == 0;
}

bool sbx_process_modules_want_rows(struct sbx_process_modules *modules, uint64_t address)
{
    const struct sbx_code_range *found = sbx_code_map_find(modules->map, address);
    struct sbx_process_module *module = found != NULL ? &modules->modules[found->module] : NULL;
    if (module == NULL || module->rows_were_asked) {
        return false;
    }
    module->rows_were_asked = true;
    module->has_rows = get_rows(modules, module);
    for (uint32_t i = 0; i < modules->map->count; i++) {
        struct sbx_code_range *range = &modules->map->ranges[i];
        if (range->module == found->module) {
            range->flags &= ~(uint32_t)SBX_CODE_ROWS_PENDING;
            range->rows = module->has_rows ? &module->rows : NULL;
        }
    }
    modules->map->generation++; /* walks must forget what they know of this module's code */
    return true;
}

/* ---- names ---- */

static void add_path(struct sbx_elf_paths *paths, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_path(struct sbx_elf_paths *paths, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *to = paths->paths[paths->count];
    int length = paths->count < SBX_ELF_PATHS_MAX ? vsnprintf(to, PATH_MAX, format, arguments) : -1;
    va_end(arguments);
    paths->count += length > 0 && length < PATH_MAX;
}

/* A path is only a place to look; each file is checked for its build-id when it is opened. */
static struct sbx_symbol_file *open_symbols(const struct sbx_process_modules *modules,
                                            const struct sbx_process_module *module)
{
    struct sbx_elf_paths *paths = calloc(1, sizeof *paths);
    char hex[2 * SBX_BUILD_ID_BYTES_MAX + 1];
    if (paths == NULL || module->build_id_bytes < 2) {
        free(paths);
        return NULL;
    }
    sbx_build_id_format(module->build_id, module->build_id_bytes, hex);
    for (size_t i = 0; i < modules->symbol_dir_count && paths->count < 3; i++) {
        add_path(paths, "%s/.build-id/%.2s/%s.debug", modules->symbol_dirs[i], hex, hex + 2);
        add_path(paths, "%s/%s.debug", modules->symbol_dirs[i], module->name);
        add_path(paths, "%s/%s", modules->symbol_dirs[i], module->name);
    }
    /* The mapped file itself, also when it was deleted, replaced, or is below another root. */
    add_path(paths, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)modules->pid, module->map_begin, module->map_end);
    add_path(paths, "/proc/%d/root%s", (int)modules->pid, module->path);
    add_path(paths, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    struct sbx_symbol_file *file = sbx_symbol_file_open(paths, module->build_id, module->build_id_bytes);
    free(paths);
    return file;
}

struct sbx_symbol_file *sbx_process_module_symbols(struct sbx_process_modules *modules,
                                                   struct sbx_process_module *module)
{
    if (!module->symbols_were_asked) {
        module->symbols_were_asked = true;
        module->symbols = open_symbols(modules, module);
    }
    return module->symbols;
}
