/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.c - takes what the recording and the walker need from the loader's list. module_rows.c decides which
 * module gets its rows next, and from where. */
#include "module_map.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "frame_walker.h"
#include "loader_visit.h"
#include "parked_pages.h"
#include "process_state.h"
#include "the_capture.h"

enum {
    PUBLISH_EVERY_NS = 5000000,    /* a new map makes all walk caches stale, so not one map for each module */
    DEPARTED_ROWS_BYTES = 4 << 20, /* M4: about ten plugins as large as libpython */
};

struct sbx_module sbx_modules[SBX_MODULES_MAX];
static unsigned long long seen_adds, seen_subs;
static bool looked_before, has_loader_counts;
static uint32_t map_generation, departures;
static uint64_t published_ns;
static bool has_unpublished_rows;
static bool has_untold_change;               /* found in passing; the next sbx_module_map_refresh() reports it */
static const struct sbx_code_map *inherited; /* in a forked child: the map of its parent; NULL: none */
SBX_OF_ONE_PROCESS(sbx_modules);
SBX_OF_ONE_PROCESS(seen_adds);
SBX_OF_ONE_PROCESS(seen_subs);
SBX_OF_ONE_PROCESS(looked_before);
SBX_OF_ONE_PROCESS(has_loader_counts);
SBX_OF_ONE_PROCESS(departures);
SBX_OF_ONE_PROCESS(published_ns);
SBX_OF_ONE_PROCESS(has_unpublished_rows);
SBX_OF_ONE_PROCESS(has_untold_change);

static size_t map_bytes(uint32_t capacity)
{
    return sizeof(struct sbx_code_map) + capacity * (sizeof(struct sbx_code_range) + sizeof(struct sbx_unwind_rows));
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

/* Searches the vdso, where it can be read, for the code to which signal handlers return. */
static void find_signal_return(uint64_t text_begin, uint64_t text_end)
{
    for (uint64_t at = text_begin; SBX_HAS_LINK_REGISTER && at + 8 <= text_end; at += 4) {
        if (sbx_is_signal_return((const void *)(uintptr_t)at)) {
            sbx_store_relaxed(&sbx_the_capture.signal_return, at);
            return;
        }
    }
}

static bool is_libc(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-musl-", 8) == 0;
}

/* A runtime's provider belongs to the agent as well. It is between the program's frames when the runtime makes calls
 * through it (agent/providers/runtime_modules.h). */
static bool is_provider(const char *path)
{
    static const char ours[] = "/stallbox/libstallbox-";
    const char *slash = strrchr(path, '/');
    const size_t folder_bytes = sizeof "/stallbox" - 1;
    return slash != NULL && (size_t)(slash - path) >= folder_bytes &&
           strncmp(slash - folder_bytes, ours, sizeof ours - 1) == 0;
}

static bool has_code(const struct sbx_module *module)
{
    return module->place.text_begin < module->place.text_end;
}

/* Fill entry and module from the loader's data. */
static void describe(struct sbx_module_entry *entry, struct sbx_module *module, const struct dl_phdr_info *info,
                     bool first)
{
    uint64_t start = UINT64_MAX, end = 0;
    const ElfW(Phdr) *frame_header = NULL;
    memset(entry, 0, sizeof *entry);
    memset(module, 0, sizeof *module);
    struct sbx_eh_frame_place *place = &module->place;
    entry->bias = info->dlpi_addr;
    module->headers = info->dlpi_phdr;
    place->text_begin = UINT64_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uint64_t address = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD) {
            start = address < start ? address : start;
            end = address + header->p_memsz > end ? address + header->p_memsz : end;
            uint64_t segment_end = header->p_vaddr + header->p_memsz;
            if ((header->p_flags & PF_X) != 0) {
                if (header->p_vaddr < place->text_begin) {
                    place->text_begin = header->p_vaddr;
                    place->text_bytes = SBX_HAS_LINK_REGISTER && (header->p_flags & PF_R) != 0 ? header->p_filesz : 0;
                }
                place->text_end = segment_end > place->text_end ? segment_end : place->text_end;
            }
        } else if (header->p_type == PT_GNU_EH_FRAME) {
            frame_header = header;
        } else if (header->p_type == PT_NOTE && entry->build_id_bytes == 0) {
            read_notes(entry, (const uint8_t *)address, header->p_memsz);
        }
    }
    for (unsigned i = 0; frame_header != NULL && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 && frame_header->p_vaddr >= header->p_vaddr &&
            frame_header->p_vaddr + frame_header->p_memsz <= header->p_vaddr + header->p_memsz) {
            place->eh_frame_hdr_address = frame_header->p_vaddr;
            place->eh_frame_hdr_bytes = frame_header->p_memsz;
            place->image_address = header->p_vaddr;
            place->image_bytes = header->p_memsz;
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
        find_signal_return(entry->bias + place->text_begin, entry->bias + place->text_end);
    }
    bool is_library = sbx_the_capture.agent_begin >= entry->start && sbx_the_capture.agent_begin < entry->end;
    if (is_library) {
        sbx_the_capture.agent_begin = entry->start;
        sbx_the_capture.agent_end = entry->end;
    }
    if (is_library || is_provider(entry->path)) {
        entry->flags |= SBX_MODULE_AGENT;
    }
    entry->flags |= has_code(module) ? SBX_MODULE_ROWS_PENDING : 0; /* until a map has it: say_which_rows_are_there() */
    module->rank = is_library                              ? SBX_RANK_AGENT
                   : (entry->flags & SBX_MODULE_MAIN) != 0 ? SBX_RANK_EXECUTABLE
                   : is_libc(entry->path)                  ? SBX_RANK_LIBC
                                                           : SBX_RANK_OTHER;
}

/* In a forked child: take over the rows that the parent had for the same code at the same place. A map is immutable
 * (M1), so the child finds it whole, whatever the parent's threads were doing at the fork. */
static void inherit_rows(struct sbx_module_entry *entry, struct sbx_module *module)
{
    for (uint32_t i = 0; inherited != NULL && i < inherited->count; i++) {
        const struct sbx_code_range *range = &inherited->ranges[i];
        if (range->bias != entry->bias || range->start != entry->bias + module->place.text_begin ||
            range->end != entry->bias + module->place.text_end || (range->flags & SBX_CODE_ROWS_PENDING) != 0) {
            continue;
        }
        module->rows_state = range->rows != NULL ? SBX_ROWS_READY : SBX_ROWS_NONE;
        if (range->rows != NULL) {
            module->rows = *range->rows;
        } else {
            entry->flags |= SBX_MODULE_NO_ROWS;
        }
        return;
    }
}

static bool is_same(const struct sbx_module_entry *entry, const struct sbx_module *module,
                    const struct dl_phdr_info *info)
{
    /* Another library may be loaded where one was unloaded, and its name shows that. The executable's path was set by
     * the agent and not by the loader. */
    return module->alive && entry->bias == info->dlpi_addr && module->headers == info->dlpi_phdr &&
           ((entry->flags & SBX_MODULE_MAIN) != 0 || info->dlpi_name == NULL ||
            strncmp(entry->path, info->dlpi_name, SBX_PATH_MAX - 1) == 0);
}

/* A module that was unloaded and came back gets its old entry, wherever it lies now, because frames name it by offset.
 * Its rows are still right. So a plugin that is loaded and unloaded again and again does not fill the table. */
static bool revive(const struct sbx_module_entry *entry, const struct sbx_module *module)
{
    for (uint32_t i = 0; i < sbx_the_capture.header->module_count; i++) {
        struct sbx_module_entry *old = &sbx_the_capture.modules[i];
        /* The loader appends new modules to its list. So if a module has not been met when a new one is met, it was
         * unloaded, and this is only noticed now. */
        if ((sbx_modules[i].alive && sbx_modules[i].seen) || entry->build_id_bytes == 0 ||
            old->build_id_bytes != entry->build_id_bytes ||
            memcmp(old->build_id, entry->build_id, entry->build_id_bytes) != 0 ||
            strncmp(old->path, entry->path, sizeof old->path) != 0) {
            continue;
        }
        if (memcmp(&sbx_modules[i].place, &module->place, sizeof module->place) != 0) {
            continue; /* a tool moved its parts and kept the build-id: frames would mean other code */
        }
        struct sbx_unwind_rows rows = sbx_modules[i].rows;
        uint8_t rows_state = sbx_modules[i].rows_state;
        bool is_unsaved = sbx_modules[i].is_unsaved;
        uint32_t kept_flags = old->flags & (SBX_MODULE_NO_ROWS | SBX_MODULE_ROWS_CACHED);
        *old = *entry;
        old->flags |= kept_flags;
        sbx_modules[i] = *module; /* no walk reads it: M1 */
        sbx_modules[i].rows = rows;
        sbx_modules[i].is_unsaved = is_unsaved;
        /* If the module was unloaded before its rows were built, that does not mean that it has none. */
        sbx_modules[i].rows_state =
            rows_state == SBX_ROWS_NONE && (kept_flags & SBX_MODULE_NO_ROWS) == 0 ? SBX_ROWS_WANTED : rows_state;
        return true;
    }
    return false;
}

/* Is the module still the same build? It may have been unloaded, built anew and loaded again at its old address between
 * two looks. */
static bool is_same_build(const struct sbx_module_entry *entry, const struct dl_phdr_info *info)
{
    struct sbx_module_entry now = {.build_id_bytes = 0};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_NOTE && now.build_id_bytes == 0) {
            read_notes(&now, (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                       info->dlpi_phdr[i].p_memsz);
        }
    }
    return now.build_id_bytes == entry->build_id_bytes &&
           memcmp(now.build_id, entry->build_id, sizeof now.build_id) == 0;
}

struct look {
    bool first, changed, stopped;
    bool has_unloads; /* a module was unloaded since the last look */
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
            return 1; /* no module came or went: some 30 ns */
        }
        look->has_unloads = info->dlpi_subs != seen_subs;
        seen_adds = info->dlpi_adds;
        seen_subs = info->dlpi_subs;
        has_loader_counts = true;
    }
    uint32_t count = header->module_count;
    for (uint32_t i = 0; i < count; i++) {
        if (is_same(&sbx_the_capture.modules[i], &sbx_modules[i], info) &&
            (!look->has_unloads || is_same_build(&sbx_the_capture.modules[i], info))) {
            sbx_modules[i].seen = true;
            return 0;
        }
    }
    if (info->dlpi_phnum == 0) {
        return 0;
    }
    struct sbx_module_entry entry;
    struct sbx_module module;
    describe(&entry, &module, info, first);
    inherit_rows(&entry, &module);
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
    sbx_modules[count] = module;
    sbx_store_release(&header->module_count, count + 1); /* order: release header.module_count - the entry is whole */
    return 0;
}

static bool are_rows_pending(const struct sbx_module *module)
{
    return module->rows_state != SBX_ROWS_READY && module->rows_state != SBX_ROWS_NONE;
}

/* Tell readers of the recording which modules of the map in force have rows. Each module gets one store, so that no
 * reader sees another state of pending rows in between. */
static void say_which_rows_are_there(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct sbx_module_entry *entry = &sbx_the_capture.modules[i];
        if (sbx_modules[i].alive && has_code(&sbx_modules[i])) {
            uint32_t others = entry->flags & ~(uint32_t)SBX_MODULE_ROWS_PENDING;
            /* relaxed: a hint for readers */
            sbx_store_relaxed(&entry->flags,
                              others | (are_rows_pending(&sbx_modules[i]) ? SBX_MODULE_ROWS_PENDING : 0));
        }
    }
}

bool sbx_module_map_publish(void)
{
    uint32_t count = sbx_the_capture.header->module_count;
    if (!sbx_parked_pages_have_room()) { /* keep the map in force until walks have let go of older maps */
        has_unpublished_rows = true;
        sbx_count_drop(SBX_DROP_NO_MODULE);
        return false;
    }
    struct sbx_code_map *map = sbx_parked_pages_new(map_bytes(count));
    if (map == NULL) {
        return false;
    }
    struct sbx_unwind_rows *rows = (struct sbx_unwind_rows *)(void *)&map->ranges[count];
    for (uint32_t i = 0; i < count; i++) {
        const struct sbx_module *module = &sbx_modules[i];
        if (!module->alive || !has_code(module)) {
            continue;
        }
        const struct sbx_module_entry *entry = &sbx_the_capture.modules[i];
        struct sbx_code_range range = {.start = entry->bias + module->place.text_begin,
                                       .end = entry->bias + module->place.text_end,
                                       .bias = entry->bias,
                                       .module = i};
        if (module->rows_state == SBX_ROWS_READY) {
            rows[i] = module->rows;
            range.rows = &rows[i];
        } else if (are_rows_pending(module)) {
            range.flags |= SBX_CODE_ROWS_PENDING;
        }
        if ((entry->flags & SBX_MODULE_AGENT) != 0) {
            range.flags |= SBX_CODE_SKIP;
        }
        uint32_t at = map->count++;
        while (at > 0 && map->ranges[at - 1].start > range.start) { /* there are few modules, so insertion sort */
            map->ranges[at] = map->ranges[at - 1];
            at--;
        }
        map->ranges[at] = range;
    }
    map->capacity = count;
    map->signal_return = sbx_load_relaxed(&sbx_the_capture.signal_return);
    map->generation = ++map_generation;
    struct sbx_code_map *old =
        (struct sbx_code_map *)sbx_load_relaxed(&sbx_the_capture.map); /* only this thread stores it */
    sbx_store_release(&sbx_the_capture.map, map);                      /* order: release code_map - the map is whole */
    if (old != NULL) {
        (void)sbx_parked_pages_put(old, map_bytes(old->capacity)); /* no room: it is never unmapped */
    }
    say_which_rows_are_there(count);
    published_ns = sbx_now_ns();
    has_unpublished_rows = false;
    return true;
}

/* Of the unloaded modules with rows, the one that was unloaded first, or UINT32_MAX. *bytes_out: the rows of all
 * unloaded modules. */
static uint32_t first_departed(size_t *bytes_out)
{
    uint32_t count = sbx_the_capture.header->module_count, first = UINT32_MAX;
    *bytes_out = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (sbx_modules[i].alive || sbx_modules[i].rows.pages == NULL) {
            continue;
        }
        *bytes_out += sbx_modules[i].rows.pages_bytes;
        if (first == UINT32_MAX || (int32_t)(sbx_modules[i].departed - sbx_modules[first].departed) < 0) {
            first = i;
        }
    }
    return first;
}

/* Drop rows of unloaded modules, beginning with the module that was unloaded first. This keeps M2, because the map in
 * force has none of these rows. */
static void drop_departed_rows(void)
{
    size_t bytes;
    for (uint32_t i = first_departed(&bytes); bytes > DEPARTED_ROWS_BYTES; i = first_departed(&bytes)) {
        struct sbx_unwind_rows rows = sbx_modules[i].rows;
        inherited = NULL; /* it may lead to these rows */
        sbx_modules[i].rows = (struct sbx_unwind_rows){0};
        sbx_modules[i].rows_state = SBX_ROWS_WANTED;
        sbx_modules[i].is_unsaved = false;
        sbx_the_capture.modules[i].flags &= ~(uint32_t)SBX_MODULE_ROWS_CACHED;
        if (!sbx_parked_pages_put(rows.pages, rows.pages_bytes)) {
            return; /* never unmapped: a walk may be reading them, and it is not known when it ends */
        }
    }
}

uint64_t sbx_module_map_loads(void)
{
    return has_loader_counts ? seen_adds : 0;
}

void sbx_module_map_inherit(void)
{
    inherited = sbx_load_relaxed(&sbx_the_capture.map); /* relaxed: a child has only one thread at this moment */
    sbx_parked_pages_inherit(inherited);
}

static bool refresh(void)
{
    uint32_t count = sbx_the_capture.header->module_count;
    for (uint32_t i = 0; i < count; i++) {
        sbx_modules[i].seen = false;
    }
    struct look look = {.first = true};
    sbx_loader_visit_each(look_at, &look);
    looked_before = true;
    if (look.stopped) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sbx_modules[i].alive && !sbx_modules[i].seen) {
            sbx_modules[i].alive = false;
            sbx_modules[i].departed = ++departures;
            sbx_the_capture.modules[i].flags |= SBX_MODULE_UNLOADED;
            look.changed = true; /* its rows stay: they are the agent's memory, and a walk may use them */
        }
    }
    if (look.changed && sbx_module_map_publish()) {
        drop_departed_rows();
    }
    /* True also when nothing differs: a module that was unloaded and came back to its place between two looks has new
     * slots without hooks. */
    return look.changed || has_loader_counts;
}

bool sbx_module_map_refresh(void)
{
    bool has_changed = refresh() || has_untold_change;
    has_untold_change = false;
    return has_changed;
}

void sbx_module_map_look_again(void)
{
    sbx_loader_visit_begin();
    has_untold_change |= refresh();
    sbx_loader_visit_end();
}

static int read_subs(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes; /* its size was checked when has_loader_counts was set */
    *(unsigned long long *)context = info->dlpi_subs;
    return 1;
}

bool sbx_module_map_is_current(void)
{
    unsigned long long subs = seen_subs + 1;
    if (!has_loader_counts) {
        return false;
    }
    sbx_loader_visit_begin();
    sbx_loader_visit_each(read_subs, &subs);
    sbx_loader_visit_end();
    return subs == seen_subs;
}

/* The module to visit. */
struct visit {
    uint32_t index;
    void (*visitor)(uint32_t index, void *context);
    void *context;
};

static int visit_it(struct dl_phdr_info *info, size_t bytes, void *context)
{
    const struct visit *visit = context;
    const struct sbx_module_entry *entry = &sbx_the_capture.modules[visit->index];
    (void)bytes;
    if (!is_same(entry, &sbx_modules[visit->index], info) || !is_same_build(entry, info)) {
        return 0;
    }
    visit->visitor(visit->index, visit->context);
    return 1;
}

bool sbx_module_map_visit(uint32_t index, void (*visitor)(uint32_t index, void *context), void *context)
{
    struct visit visit = {index, visitor, context};
    sbx_loader_visit_begin();
    bool is_there = sbx_loader_visit_each(visit_it, &visit) != 0;
    sbx_loader_visit_end();
    return is_there;
}

void sbx_module_map_have_rows(bool is_urgent)
{
    has_unpublished_rows = true;
    if (is_urgent || sbx_now_ns() - published_ns >= PUBLISH_EVERY_NS) {
        (void)sbx_module_map_publish(); /* without memory the next call tries again */
    }
}

void sbx_module_map_publish_rest(void)
{
    if (has_unpublished_rows) {
        (void)sbx_module_map_publish();
    }
}
