/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.c - from the loader's list to what the recording and the walker know of it. */
#include "module_map.h"

#include <elf.h>
#include <link.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"
#include "pages.h"
#include "unwind_rows.h"

/* What only this file needs to know of a module; beside its entry in the recording. */
struct module {
    struct sbx_unwind_rows rows;
    uint64_t text_begin, text_end; /* executable range, addresses */
    const ElfW(Phdr) * headers;
    uint8_t rows_state; /* enum rows_state */
    bool alive, seen;
};
enum rows_state {
    ROWS_WANTED = 0,
    ROWS_READY = 1,
    ROWS_NONE = 2
};

static struct module modules[SBX_MODULES_MAX];
static unsigned long long seen_adds, seen_subs;
static bool looked_before;
static uint32_t map_generation;

enum {
    PARKED_MAX = 256,
    PARKED_BATCH = 16
};
static struct sbx_code_map *parked[PARKED_MAX]; /* replaced, perhaps still held by a walk */
static uint32_t parked_count;

static size_t map_bytes(uint32_t capacity)
{
    return sizeof(struct sbx_code_map) + capacity * sizeof(struct sbx_code_range);
}

/* Copy the build-id out of one PT_NOTE. */
static void read_notes(struct sbx_module_entry *entry, const uint8_t *notes, size_t bytes)
{
    size_t at = 0;
    while (bytes - at >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(notes + at);
        size_t name_bytes = ((size_t)note->n_namesz + 3) & ~(size_t)3;
        size_t desc_bytes = ((size_t)note->n_descsz + 3) & ~(size_t)3;
        at += sizeof *note;
        if (name_bytes > bytes - at || desc_bytes > bytes - at - name_bytes) {
            return;
        }
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0) {
            size_t length = note->n_descsz < SBX_BUILD_ID_MAX ? note->n_descsz : SBX_BUILD_ID_MAX;
            memcpy(entry->build_id, notes + at + name_bytes, length);
            entry->build_id_bytes = (uint32_t)length;
            return;
        }
        at += name_bytes + desc_bytes;
    }
}

static void copy_path(struct sbx_module_entry *entry, const char *path)
{
    size_t length = strnlen(path, SBX_PATH_MAX - 1);
    memcpy(entry->path, path, length);
    entry->path[length] = 0;
}

/* The vdso, where it can be read: in its code lies where signal handlers return to. */
static void find_signal_return(const struct module *module)
{
    for (uint64_t at = module->text_begin; SBX_HAS_LINK_REGISTER && at + 8 <= module->text_end; at += 4) {
        if (sbx_is_signal_return((const void *)(uintptr_t)at)) {
            sbx_store_relaxed(&sbx_the_capture.signal_return, at);
            return;
        }
    }
}

/* Fill entry and module from the loader's words. */
static void describe(struct sbx_module_entry *entry, struct module *module, const struct dl_phdr_info *info, bool first)
{
    uint64_t start = UINT64_MAX, end = 0;
    memset(entry, 0, sizeof *entry);
    memset(module, 0, sizeof *module);
    entry->bias = info->dlpi_addr;
    module->headers = info->dlpi_phdr;
    module->text_begin = UINT64_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t address = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD) {
            start = address < start ? address : start;
            end = address + header->p_memsz > end ? address + header->p_memsz : end;
            if ((header->p_flags & PF_X) != 0) {
                module->text_begin = address < module->text_begin ? address : module->text_begin;
                module->text_end =
                    address + header->p_memsz > module->text_end ? address + header->p_memsz : module->text_end;
            }
        } else if (header->p_type == PT_NOTE) {
            read_notes(entry, (const uint8_t *)address, header->p_memsz);
        }
    }
    entry->start = start & ~UINT64_C(4095);
    entry->end = (end + 4095) & ~UINT64_C(4095);
    if (first) {
        entry->flags |= SBX_MODULE_MAIN;
        copy_path(entry, sbx_the_capture.header->executable_path);
    } else {
        copy_path(entry, info->dlpi_name != NULL ? info->dlpi_name : "");
    }
    if (strncmp(entry->path, "linux-vdso", 10) == 0 || strncmp(entry->path, "linux-gate", 10) == 0) {
        entry->flags |= SBX_MODULE_VDSO;
        find_signal_return(module);
    }
    if (sbx_the_capture.agent_begin >= entry->start && sbx_the_capture.agent_begin < entry->end) {
        entry->flags |= SBX_MODULE_AGENT;
        sbx_the_capture.agent_begin = entry->start;
        sbx_the_capture.agent_end = entry->end;
    }
}

static bool is_same(const struct sbx_module_entry *entry, const struct module *module, const struct dl_phdr_info *info)
{
    /* Another library may lie where one was unloaded: the name tells them apart. The executable's is ours, not the
     * loader's. */
    return module->alive && entry->bias == info->dlpi_addr && module->headers == info->dlpi_phdr &&
           ((entry->flags & SBX_MODULE_MAIN) != 0 || info->dlpi_name == NULL ||
            strncmp(entry->path, info->dlpi_name, SBX_PATH_MAX - 1) == 0);
}

/* A module that was here before and went: it gets its entry again, wherever it lies now, because frames name it by
 * offset, and its rows are still true. So a plugin that comes and goes does not fill the table. */
static bool revive(const struct sbx_module_entry *entry, const struct module *module)
{
    for (uint32_t i = 0; i < sbx_the_capture.header->module_count; i++) {
        struct sbx_module_entry *old = &sbx_the_capture.modules[i];
        if (modules[i].alive || entry->build_id_bytes == 0 || old->build_id_bytes != entry->build_id_bytes ||
            memcmp(old->build_id, entry->build_id, entry->build_id_bytes) != 0 ||
            strncmp(old->path, entry->path, sizeof old->path) != 0) {
            continue;
        }
        struct sbx_unwind_rows rows = modules[i].rows;
        uint8_t rows_state = modules[i].rows_state;
        *old = *entry;
        modules[i] = *module;
        modules[i].rows = rows;
        modules[i].rows_state = rows_state;
        return true;
    }
    return false;
}

struct look {
    bool first, changed, stopped;
};

/* dl_iterate_phdr callback: one module. */
static int look_at(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct look *look = context;
    struct sbx_recording_header *header = sbx_the_capture.header;
    bool first = look->first;
    look->first = false;
    if (first && bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        if (looked_before && info->dlpi_adds == seen_adds && info->dlpi_subs == seen_subs) {
            look->stopped = true;
            return 1; /* nothing came, nothing went: some 30 ns */
        }
        seen_adds = info->dlpi_adds;
        seen_subs = info->dlpi_subs;
    }
    uint32_t count = header->module_count;
    for (uint32_t i = 0; i < count; i++) {
        if (is_same(&sbx_the_capture.modules[i], &modules[i], info)) {
            modules[i].seen = true;
            return 0;
        }
    }
    if (info->dlpi_phnum == 0) {
        return 0;
    }
    struct sbx_module_entry entry;
    struct module module;
    describe(&entry, &module, info, first);
    module.alive = true;
    module.seen = true;
    look->changed = true;
    if (revive(&entry, &module)) {
        return 0;
    }
    if (count >= header->modules.count) {
        sbx_count_drop(SBX_DROP_NO_MODULE);
        return 0;
    }
    sbx_the_capture.modules[count] = entry;
    modules[count] = module;
    sbx_store_release(&header->module_count, count + 1); /* order: release header.module_count - the entry is whole */
    return 0;
}

/* Free the parked maps, if nobody can hold one any more. */
static void reclaim_maps(void)
{
    if (parked_count < PARKED_BATCH || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0 ||
        !sbx_thread_registry_is_quiet()) {
        return; /* the next replacement asks again */
    }
    for (uint32_t i = 0; i < parked_count; i++) {
        munmap(parked[i], map_bytes(parked[i]->capacity));
    }
    parked_count = 0;
}

/* Put a new map in the place of the old one. */
static void replace_map(struct sbx_code_map *map)
{
    struct sbx_code_map *old =
        (struct sbx_code_map *)sbx_load_relaxed(&sbx_the_capture.map); /* only this thread stores */
    sbx_store_release(&sbx_the_capture.map, map);                      /* order: release code_map - the map is whole */
    if (old != NULL && parked_count < PARKED_MAX) {
        parked[parked_count++] = old; /* beyond the room it is left for good: nobody has been quiet for very long */
    }
    reclaim_maps();
}

/* Make and publish a new code map of the modules alive. */
static void publish(void)
{
    uint32_t count = sbx_the_capture.header->module_count;
    struct sbx_code_map *map = sbx_pages_map(map_bytes(count));
    if (map == NULL) {
        return; /* the old one stays: new modules end walks as unknown, counted */
    }
    for (uint32_t i = 0; i < count; i++) {
        struct module *module = &modules[i];
        if (!module->alive || module->text_begin >= module->text_end) {
            continue;
        }
        const struct sbx_module_entry *entry = &sbx_the_capture.modules[i];
        struct sbx_code_range range = {
            .start = module->text_begin, .end = module->text_end, .bias = entry->bias, .module = i};
        if (module->rows_state == ROWS_READY) {
            range.rows = &module->rows;
        } else if (module->rows_state == ROWS_WANTED) {
            range.flags |= SBX_CODE_ROWS_PENDING;
        }
        if ((entry->flags & SBX_MODULE_AGENT) != 0) {
            range.flags |= SBX_CODE_SKIP;
        }
        uint32_t at = map->count++;
        while (at > 0 && map->ranges[at - 1].start > range.start) { /* few modules, rarely: insertion sort */
            map->ranges[at] = map->ranges[at - 1];
            at--;
        }
        map->ranges[at] = range;
    }
    map->capacity = count;
    map->signal_return = sbx_load_relaxed(&sbx_the_capture.signal_return);
    map->generation = ++map_generation;
    replace_map(map);
}

bool sbx_module_map_refresh(void)
{
    if (!looked_before) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0); /* refused: maps are never freed */
    }
    uint32_t count = sbx_the_capture.header->module_count;
    for (uint32_t i = 0; i < count; i++) {
        modules[i].seen = false;
    }
    struct look look = {.first = true};
    dl_iterate_phdr(look_at, &look);
    looked_before = true;
    if (look.stopped) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (modules[i].alive && !modules[i].seen) {
            modules[i].alive = false;
            sbx_the_capture.modules[i].flags |= SBX_MODULE_UNLOADED;
            look.changed = true; /* its rows stay: they are our memory, and a walk may be in them */
        }
    }
    if (look.changed) {
        publish();
    }
    return look.changed;
}

struct rows_search {
    uint32_t index;
    bool found;
};

/* Compile the rows inside the loader's iteration: there the module cannot be unmapped under our eyes. */
static int build_inside(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct rows_search *search = context;
    struct module *module = &modules[search->index];
    const struct sbx_module_entry *entry = &sbx_the_capture.modules[search->index];
    (void)bytes;
    if (!is_same(entry, module, info)) {
        return 0;
    }
    search->found = true;
    struct sbx_unwind_source source = {.text_begin = module->text_begin - entry->bias,
                                       .text_end = module->text_end - entry->bias};
    const ElfW(Phdr) *frame_header = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
            frame_header = &info->dlpi_phdr[i];
        }
    }
    for (unsigned i = 0; frame_header != NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 && frame_header->p_vaddr >= header->p_vaddr &&
            frame_header->p_vaddr + frame_header->p_memsz <= header->p_vaddr + header->p_memsz) {
            source.eh_frame_hdr = (const uint8_t *)(info->dlpi_addr + frame_header->p_vaddr);
            source.eh_frame_hdr_bytes = frame_header->p_memsz;
            source.eh_frame_hdr_address = frame_header->p_vaddr;
            source.image = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
            source.image_bytes = header->p_memsz;
            source.image_address = header->p_vaddr;
        }
    }
    uint32_t skipped = 0;
    if (source.eh_frame_hdr != NULL && sbx_unwind_rows_build(&source, &module->rows, &skipped) == 0) {
        module->rows_state = ROWS_READY;
    } else {
        module->rows_state = ROWS_NONE;
        sbx_the_capture.modules[search->index].flags |= SBX_MODULE_NO_ROWS;
    }
    return 1;
}

/* The most wanted module without rows: ours, the executable, then in the loader's order. */
static uint32_t next_wanted(void)
{
    uint32_t count = sbx_the_capture.header->module_count, wanted = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (!modules[i].alive || modules[i].rows_state != ROWS_WANTED) {
            continue;
        }
        if ((sbx_the_capture.modules[i].flags & SBX_MODULE_AGENT) != 0) {
            return i;
        }
        if (wanted == UINT32_MAX) {
            wanted = i;
        }
    }
    return wanted;
}

bool sbx_module_map_build_rows(void)
{
    uint32_t wanted = next_wanted();
    if (wanted == UINT32_MAX) {
        return false;
    }
    struct rows_search search = {.index = wanted};
    dl_iterate_phdr(build_inside, &search);
    if (!search.found) {
        modules[wanted].rows_state = ROWS_NONE; /* unloaded since */
    }
    publish();
    return true;
}
