/* SPDX-License-Identifier: Apache-2.0 */
/* module_map.c - from the loader's list to what the recording and the walker know of it. */
#include "module_map.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "capture.h"
#include "clock.h"
#include "eh_frame_copy.h"
#include "loader_visit.h"
#include "pages.h"
#include "parked_pages.h"
#include "rows_cache.h"

/* What only this file needs to know of a module; beside its entry in the recording. */
struct module {
    struct sbx_unwind_rows rows;
    struct sbx_eh_frame_place place; /* of its unwind data; eh_frame_hdr_bytes 0: it has none */
    const ElfW(Phdr) * headers;
    uint32_t departed; /* order in which modules went */
    uint8_t rows_state; /* enum rows_state */
    uint8_t rank;       /* enum rank */
    bool alive, seen;
    bool is_unsaved; /* its rows were built and not given to the cache yet */
};
enum rows_state {
    ROWS_WANTED = 0, /* the cache was not asked yet */
    ROWS_MISSING,    /* the cache does not have them: to be built */
    ROWS_READY,
    ROWS_NONE
};

/* Whose rows come first: walks begin in our own code, pass libc, and end in the executable. */
enum rank {
    RANK_AGENT = 0,
    RANK_EXECUTABLE,
    RANK_LIBC,
    RANK_OTHER
};

enum {
    PUBLISH_EVERY_NS = 5000000,        /* a new map makes every thread's walk cache stale, so not one for each module */
    COPY_ATTEMPTS = 3,                 /* beside a program that unloads all the time, before we ask it to wait */
    SAVE_BATCH = 16,                   /* files written for one new map */
    DEPARTED_ROWS_BYTES = 4 << 20,     /* M4: some ten plugins as large as libpython */
};

static struct module modules[SBX_MODULES_MAX];
static unsigned long long seen_adds, seen_subs;
static bool looked_before, has_loader_counts;
static uint32_t map_generation, departures;
static struct sbx_rows_cache rows_cache;
static uint64_t published_ns;
static bool has_unpublished_rows;
static bool has_untold_change; /* found by the way: the next sbx_module_map_refresh() tells it */
static bool has_trimmed;

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

/* The vdso, where it can be read: in its code lies where signal handlers return to. */
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

/* Fill entry and module from the loader's words. */
static void describe(struct sbx_module_entry *entry, struct module *module, const struct dl_phdr_info *info, bool first)
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
    if (sbx_the_capture.agent_begin >= entry->start && sbx_the_capture.agent_begin < entry->end) {
        entry->flags |= SBX_MODULE_AGENT;
        sbx_the_capture.agent_begin = entry->start;
        sbx_the_capture.agent_end = entry->end;
    }
    module->rank = (entry->flags & SBX_MODULE_AGENT) != 0  ? RANK_AGENT
                   : (entry->flags & SBX_MODULE_MAIN) != 0 ? RANK_EXECUTABLE
                   : is_libc(entry->path)                  ? RANK_LIBC
                                                           : RANK_OTHER;
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
        /* The loader appends: what has not been met when a newcomer is, is gone, and we look only now. */
        if ((modules[i].alive && modules[i].seen) || entry->build_id_bytes == 0 || old->build_id_bytes != entry->build_id_bytes ||
            memcmp(old->build_id, entry->build_id, entry->build_id_bytes) != 0 ||
            strncmp(old->path, entry->path, sizeof old->path) != 0) {
            continue;
        }
        if (memcmp(&modules[i].place, &module->place, sizeof module->place) != 0) {
            continue; /* moved about by a tool that kept the build-id: frames would mean something else */
        }
        struct sbx_unwind_rows rows = modules[i].rows;
        uint8_t rows_state = modules[i].rows_state;
        bool is_unsaved = modules[i].is_unsaved;
        uint32_t kept_flags = old->flags & (SBX_MODULE_NO_ROWS | SBX_MODULE_ROWS_CACHED);
        *old = *entry;
        old->flags |= kept_flags;
        modules[i] = *module; /* no walk reads it: M1 */
        modules[i].rows = rows;
        modules[i].is_unsaved = is_unsaved;
        /* None yet because it went before they were built is not none at all. */
        modules[i].rows_state = rows_state == ROWS_NONE && (kept_flags & SBX_MODULE_NO_ROWS) == 0 ? ROWS_WANTED : rows_state;
        return true;
    }
    return false;
}

/* Was it unloaded, built anew and loaded again at its old address, between two looks? */
static bool is_same_build(const struct sbx_module_entry *entry, const struct dl_phdr_info *info)
{
    struct sbx_module_entry now = {.build_id_bytes = 0};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_NOTE && now.build_id_bytes == 0) {
            read_notes(&now, (const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), info->dlpi_phdr[i].p_memsz);
        }
    }
    return now.build_id_bytes == entry->build_id_bytes &&
           memcmp(now.build_id, entry->build_id, sizeof now.build_id) == 0;
}

struct look {
    bool first, changed, stopped;
    bool has_unloads; /* something went since the last look */
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
        look->has_unloads = info->dlpi_subs != seen_subs;
        seen_adds = info->dlpi_adds;
        seen_subs = info->dlpi_subs;
        has_loader_counts = true;
    }
    uint32_t count = header->module_count;
    for (uint32_t i = 0; i < count; i++) {
        if (is_same(&sbx_the_capture.modules[i], &modules[i], info) &&
            (!look->has_unloads || is_same_build(&sbx_the_capture.modules[i], info))) {
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

/* Make and publish a new code map of the modules alive; keeps M1. Returns false when there is no memory: the old one
 * stays, and new modules end walks as unknown, counted. */
static bool publish(void)
{
    uint32_t count = sbx_the_capture.header->module_count;
    struct sbx_code_map *map = sbx_pages_map(map_bytes(count));
    if (map == NULL) {
        return false;
    }
    struct sbx_unwind_rows *rows = (struct sbx_unwind_rows *)(void *)&map->ranges[count];
    for (uint32_t i = 0; i < count; i++) {
        const struct module *module = &modules[i];
        if (!module->alive || module->place.text_begin >= module->place.text_end) {
            continue;
        }
        struct sbx_module_entry *entry = &sbx_the_capture.modules[i];
        entry->flags &= ~(uint32_t)SBX_MODULE_ROWS_PENDING;
        struct sbx_code_range range = {.start = entry->bias + module->place.text_begin,
                                       .end = entry->bias + module->place.text_end,
                                       .bias = entry->bias,
                                       .module = i};
        if (module->rows_state == ROWS_READY) {
            rows[i] = module->rows;
            range.rows = &rows[i];
        } else if (module->rows_state != ROWS_NONE) {
            range.flags |= SBX_CODE_ROWS_PENDING;
            entry->flags |= SBX_MODULE_ROWS_PENDING;
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
    struct sbx_code_map *old =
        (struct sbx_code_map *)sbx_load_relaxed(&sbx_the_capture.map); /* only this thread stores */
    sbx_store_release(&sbx_the_capture.map, map);                      /* order: release code_map - the map is whole */
    if (old != NULL) {
        (void)sbx_parked_pages_put(old, map_bytes(old->capacity)); /* no room: it is left for good */
    }
    published_ns = sbx_now_ns();
    has_unpublished_rows = false;
    return true;
}

/* The module with rows that went first, or UINT32_MAX; *bytes_out: rows of all that went. */
static uint32_t first_departed(size_t *bytes_out)
{
    uint32_t count = sbx_the_capture.header->module_count, first = UINT32_MAX;
    *bytes_out = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (modules[i].alive || modules[i].rows.pages == NULL) {
            continue;
        }
        *bytes_out += modules[i].rows.pages_bytes;
        if (first == UINT32_MAX || (int32_t)(modules[i].departed - modules[first].departed) < 0) {
            first = i;
        }
    }
    return first;
}

/* Drop rows of modules that went, those gone longest first; keeps M2, since the map in force has none of them. */
static void drop_departed_rows(void)
{
    size_t bytes;
    for (uint32_t i = first_departed(&bytes); bytes > DEPARTED_ROWS_BYTES; i = first_departed(&bytes)) {
        struct sbx_unwind_rows rows = modules[i].rows;
        modules[i].rows = (struct sbx_unwind_rows){0};
        modules[i].rows_state = ROWS_WANTED;
        modules[i].is_unsaved = false;
        sbx_the_capture.modules[i].flags &= ~(uint32_t)SBX_MODULE_ROWS_CACHED;
        if (!sbx_parked_pages_put(rows.pages, rows.pages_bytes)) {
            return; /* left for good: somebody may be reading them, and nobody knows when he ends */
        }
    }
}

static bool refresh(void)
{
    if (!looked_before) {
        sbx_parked_pages_start();
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
            modules[i].departed = ++departures;
            sbx_the_capture.modules[i].flags |= SBX_MODULE_UNLOADED;
            look.changed = true; /* its rows stay for now: they are our memory, and a walk may be in them */
        }
    }
    if (look.changed && publish()) {
        drop_departed_rows();
    }
    return look.changed;
}

bool sbx_module_map_refresh(void)
{
    bool has_changed = refresh() || has_untold_change;
    has_untold_change = false;
    return has_changed;
}

/* ---- rows ---- */

void sbx_module_map_open_cache(const char *folder)
{
    (void)sbx_rows_cache_open(&rows_cache, folder); /* refused: there is no cache, and the modules' flags show it */
    for (uint32_t i = 0; i < sbx_the_capture.header->module_count; i++) {
        if (modules[i].rows_state == ROWS_MISSING) {
            modules[i].rows_state = ROWS_WANTED;
        }
    }
}

static int read_subs(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)bytes; /* was long enough when has_loader_counts was set */
    *(unsigned long long *)context = info->dlpi_subs;
    return 1;
}

/* Has nothing been unmapped since the last refresh? */
static bool is_all_still_there(void)
{
    unsigned long long subs = seen_subs + 1;
    sbx_loader_visit_begin();
    dl_iterate_phdr(read_subs, &subs);
    sbx_loader_visit_end();
    return subs == seen_subs;
}

/* sbx_module_read without a lock: where the module went, the kernel says so. */
static int read_through_kernel(void *context, uint64_t address, void *to, size_t bytes)
{
    const struct sbx_module_entry *entry = context;
    uint64_t from = entry->bias + address;
    while (bytes > 0) {
        size_t part = bytes < (size_t)1 << 30 ? bytes : (size_t)1 << 30; /* one call gives 2 GiB at most */
        struct iovec local = {to, part}, remote = {(void *)(uintptr_t)from, part};
        long got = syscall(SYS_process_vm_readv, (long)getpid(), &local, 1UL, &remote, 1UL, 0UL);
        if (got <= 0) {
            return got == 0 ? -EFAULT : -errno;
        }
        to = (uint8_t *)to + got;
        from += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

/* sbx_module_read inside the loader, where the module cannot go. */
static int read_in_place(void *context, uint64_t address, void *to, size_t bytes)
{
    const struct sbx_module_entry *entry = context;
    memcpy(to, (const void *)(uintptr_t)(entry->bias + address), bytes);
    return 0;
}

struct copying {
    uint32_t index;
    struct sbx_eh_frame_copy copy;
    int result;
};

static int copy_inside(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct copying *copying = context;
    struct sbx_module_entry *entry = &sbx_the_capture.modules[copying->index];
    (void)bytes;
    if (!is_same(entry, &modules[copying->index], info) || !is_same_build(entry, info)) {
        return 0;
    }
    copying->result = sbx_eh_frame_copy_take(&copying->copy, &modules[copying->index].place, read_in_place, entry);
    return 1;
}

/* Copy a module's unwind data. -ESRCH: it went meanwhile. */
static int copy_eh_frame(struct copying *copying)
{
    const struct module *module = &modules[copying->index];
    struct sbx_module_entry *entry = &sbx_the_capture.modules[copying->index];
    for (unsigned attempt = 0; has_loader_counts && attempt < COPY_ATTEMPTS; attempt++) {
        copying->result = sbx_eh_frame_copy_take(&copying->copy, &module->place, read_through_kernel, entry);
        if (copying->result == -EPERM || copying->result == -ENOSYS || copying->result == -EACCES) {
            break; /* forbidden: by seccomp, mostly */
        }
        if (is_all_still_there()) {
            return copying->result;
        }
        sbx_eh_frame_copy_release(&copying->copy);
        sbx_loader_visit_begin();
        has_untold_change |= refresh();
        sbx_loader_visit_end();
        if (!module->alive) {
            return -ESRCH;
        }
    }
    copying->result = -ESRCH;
    sbx_loader_visit_begin();
    dl_iterate_phdr(copy_inside, copying);
    sbx_loader_visit_end();
    return copying->result;
}

static struct sbx_rows_key key_of(uint32_t index)
{
    const struct sbx_module_entry *entry = &sbx_the_capture.modules[index];
    const struct sbx_eh_frame_place *place = &modules[index].place;
    static_assert((int)SBX_ROWS_KEY_BYTES == (int)SBX_BUILD_ID_MAX, "the whole of what the recording knows");
    struct sbx_rows_key key = {.build_id_bytes = entry->build_id_bytes,
                               .text_begin = place->text_begin,
                               .text_end = place->text_end,
                               .eh_frame_hdr_address = place->eh_frame_hdr_address,
                               .eh_frame_hdr_bytes = place->eh_frame_hdr_bytes};
    memcpy(key.build_id, entry->build_id, sizeof key.build_id);
    return key;
}

static void compile_rows(uint32_t index)
{
    struct copying copying = {.index = index};
    struct module *module = &modules[index];
    uint32_t skipped = 0;
    int result = module->place.eh_frame_hdr_bytes == 0 ? -ENOENT : copy_eh_frame(&copying);
    if (result == -ESRCH) {
        if (module->alive) {
            module->rows_state = ROWS_NONE; /* the loader does not know it any more; the next refresh will say so */
        }
        return;
    }
    if (result == 0) {
        result = sbx_unwind_rows_build(&copying.copy.source, &module->rows, &skipped);
        sbx_eh_frame_copy_release(&copying.copy);
    }
    if (result != 0) {
        module->rows_state = ROWS_NONE;
        sbx_the_capture.modules[index].flags |= SBX_MODULE_NO_ROWS;
        return;
    }
    module->rows_state = ROWS_READY;
    module->is_unsaved = true;
}

/* Give rows that were built to the cache, some at a time, and let their modules have the file's. When all rows are
 * there, because a disk may take its time. Returns false when there are none. */
static bool save_some_rows(void)
{
    struct sbx_unwind_rows before[SAVE_BATCH];
    uint32_t count = sbx_the_capture.header->module_count, saved = 0, moved = 0;
    for (uint32_t i = 0; i < count && saved < SAVE_BATCH; i++) {
        struct sbx_unwind_rows mapped;
        if (!modules[i].alive || !modules[i].is_unsaved) {
            continue;
        }
        const struct sbx_rows_key key = key_of(i);
        modules[i].is_unsaved = false;
        saved++;
        /* Ours were built before there was a cache to ask, and another process may have been quicker with others. */
        if (sbx_rows_cache_get(&rows_cache, &key, &mapped) != 0 &&
            sbx_rows_cache_put(&rows_cache, &key, &modules[i].rows, &mapped) != 0) {
            continue;
        }
        sbx_the_capture.modules[i].flags |= SBX_MODULE_ROWS_CACHED;
        if (mapped.pages != NULL) {
            before[moved++] = modules[i].rows;
            modules[i].rows = mapped; /* no walk reads it: M1 */
        }
    }
    if (moved > 0 && publish()) { /* else left for good: the map in force leads to them */
        for (uint32_t i = 0; i < moved; i++) {
            (void)sbx_parked_pages_put(before[i].pages, before[i].pages_bytes); /* keeps M2; no room: left for good */
        }
    }
    return saved > 0;
}

/* The most wanted module without rows. By rank; where that says nothing, those the cache was not asked for, because
 * that is quick, then those with the fewest functions. */
static uint32_t next_wanted(void)
{
    uint32_t count = sbx_the_capture.header->module_count, wanted = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const struct module *module = &modules[i], *best = &modules[wanted != UINT32_MAX ? wanted : i];
        if (!module->alive || module->rows_state == ROWS_READY || module->rows_state == ROWS_NONE) {
            continue;
        }
        if (wanted == UINT32_MAX || module->rank < best->rank ||
            (module->rank == best->rank &&
             (module->rows_state < best->rows_state ||
              (module->rows_state == best->rows_state &&
               module->place.eh_frame_hdr_bytes < best->place.eh_frame_hdr_bytes)))) {
            wanted = i;
        }
    }
    return wanted;
}

bool sbx_module_map_build_rows(void)
{
    uint32_t wanted = next_wanted();
    if (wanted == UINT32_MAX) {
        if (has_unpublished_rows) {
            publish();
        }
        if (rows_cache.folder[0] != 0 && save_some_rows()) {
            return true;
        }
        if (rows_cache.written > 0 && !has_trimmed) {
            sbx_rows_cache_trim(&rows_cache);
            has_trimmed = true;
        }
        return false;
    }
    const struct sbx_rows_key key = key_of(wanted);
    struct module *module = &modules[wanted];
    if (module->rows_state == ROWS_WANTED && sbx_rows_cache_get(&rows_cache, &key, &module->rows) == 0) {
        module->rows_state = ROWS_READY;
        sbx_the_capture.modules[wanted].flags |= SBX_MODULE_ROWS_CACHED;
    } else if (module->rows_state == ROWS_WANTED && module->rank == RANK_OTHER && rows_cache.folder[0] != 0) {
        module->rows_state = ROWS_MISSING; /* its turn comes when the cache was asked for all others */
        return true;
    } else {
        compile_rows(wanted);
    }
    has_unpublished_rows = true;
    if (module->rank == RANK_AGENT || sbx_now_ns() - published_ns >= PUBLISH_EVERY_NS) {
        publish();
    }
    return true;
}
