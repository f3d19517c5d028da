/* SPDX-License-Identifier: Apache-2.0 */
/* symbolizer.c - which symbol files are open, and which are known to be missing.
 *
 * A report asks for the same few modules again and again, a server for those of a few releases. A file that was not
 * found, or that has no debug information, is searched again after a while: a better file may have been added since. */
#include "symbolizer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shortage.h"
#include "watch_names.h"

enum {
    OPEN_MAX = 48,
    CACHE_BYTES = 32 << 20, /* of chunks, for each open image; half of a large C++ program's code fits */
    REMEMBER_S = 60
};

struct entry {
    uint8_t build_id[32];
    size_t bytes;
    uint64_t owner;               /* owner of the own store that was asked, too; 0: none was */
    struct sbx_symbol_file *file; /* NULL: none */
    char *path;                   /* NULL: none */
    time_t looked_s;
    uint64_t used;     /* value of `turn` at the last use */
    bool avoids_store; /* the store's image is damaged or not reachable: files come first */
};

struct sbx_symbolizer {
    struct sbx_elf_finder *finder;
    struct sbx_elf_paths *paths; /* working memory */
    struct sbx_watch_names *watch_names;
    struct entry entries[OPEN_MAX];
    size_t entry_count;
    uint64_t turn;
    struct sbx_provider_map *providers;
    struct sbx_symbol_store *store;          /* NULL: none */
    struct sbx_symbol_store *own_store;      /* asked before `store`; NULL: none */
    uint64_t owner;                          /* owner of own_store; 0: none */
    const struct sbx_debuginfod *debuginfod; /* NULL: none */
    time_t debuginfod_failed_s;              /* 0 never */
    time_t (*now_s)(void);
    bool debuginfod_has_trouble;
    char debuginfod_why[400], debuginfod_said[400]; /* said: the text that was returned last */
};

static time_t monotonic_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1; /* never 0 */
}

struct sbx_symbolizer *sbx_symbolizer_create(const char *const *dirs, size_t dir_count)
{
    struct sbx_symbolizer *symbolizer = calloc(1, sizeof *symbolizer);
    if (symbolizer == NULL) {
        return NULL;
    }
    symbolizer->now_s = monotonic_s;
    symbolizer->finder = sbx_elf_finder_create(dirs, dir_count);
    symbolizer->paths = malloc(sizeof *symbolizer->paths);
    symbolizer->watch_names = sbx_watch_names_create();
    symbolizer->providers = sbx_provider_map_create();
    if (symbolizer->finder == NULL || symbolizer->paths == NULL || symbolizer->watch_names == NULL ||
        symbolizer->providers == NULL) {
        sbx_symbolizer_destroy(symbolizer);
        return NULL;
    }
    for (size_t i = 0; i < dir_count; i++) {
        (void)sbx_provider_map_add_folder(symbolizer->providers,
                                          dirs[i]); /* if memory runs out, only names are missing */
    }
    return symbolizer;
}

void sbx_symbolizer_use_clock(struct sbx_symbolizer *symbolizer, time_t (*now_s)(void))
{
    symbolizer->now_s = now_s;
    sbx_elf_finder_use_clock(symbolizer->finder, now_s);
}

void sbx_symbolizer_skip_local_files(struct sbx_symbolizer *symbolizer)
{
    sbx_elf_finder_skip_local(symbolizer->finder);
}

static void empty_entry(struct entry *entry)
{
    sbx_symbol_file_close(entry->file);
    free(entry->path);
    memset(entry, 0, sizeof *entry);
}

/* Files that were not found may be in the new index. */
static void forget_missing(struct sbx_symbolizer *symbolizer)
{
    for (size_t i = 0; i < symbolizer->entry_count; i++) {
        symbolizer->entries[i].looked_s = symbolizer->entries[i].file == NULL ? 0 : symbolizer->entries[i].looked_s;
    }
}

int sbx_symbolizer_add_index(struct sbx_symbolizer *symbolizer, const char *index_path)
{
    forget_missing(symbolizer);
    char folder[PATH_MAX];
    const char *slash = strrchr(index_path, '/');
    int bytes = snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - index_path + 1),
                         slash == NULL ? "." : index_path);
    if (bytes > 0 && (size_t)bytes < sizeof folder) { /* next to it lie the names that recorded programs told */
        (void)sbx_provider_map_add_folder(symbolizer->providers, folder);
    }
    int result = sbx_watch_names_add_index(symbolizer->watch_names, index_path);
    return result != 0 ? result : sbx_elf_finder_add_index(symbolizer->finder, index_path);
}

void sbx_symbolizer_destroy(struct sbx_symbolizer *symbolizer)
{
    if (symbolizer == NULL) {
        return;
    }
    for (size_t i = 0; i < symbolizer->entry_count; i++) {
        empty_entry(&symbolizer->entries[i]);
    }
    sbx_elf_finder_destroy(symbolizer->finder);
    sbx_watch_names_destroy(symbolizer->watch_names);
    sbx_provider_map_destroy(symbolizer->providers);
    free(symbolizer->paths);
    free(symbolizer);
}

const char *sbx_symbolizer_watch_name(const struct sbx_symbolizer *symbolizer, uint64_t what)
{
    return sbx_watch_names_find(symbolizer->watch_names, what);
}

static bool is_of(const struct entry *entry, const uint8_t *build_id, size_t bytes)
{
    return entry->bytes == bytes && memcmp(entry->build_id, build_id, bytes) == 0;
}

/* The entry of a build-id, or a slot for it: a free one, else the least recently used one, emptied. */
static struct entry *entry_for(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes)
{
    struct entry *oldest = &symbolizer->entries[0];
    for (size_t i = 0; i < symbolizer->entry_count; i++) {
        struct entry *entry = &symbolizer->entries[i];
        if (entry->owner == symbolizer->owner && is_of(entry, build_id, bytes)) {
            return entry;
        }
        oldest = entry->used < oldest->used ? entry : oldest;
    }
    if (symbolizer->entry_count < OPEN_MAX) {
        oldest = &symbolizer->entries[symbolizer->entry_count++];
    }
    empty_entry(oldest);
    memcpy(oldest->build_id, build_id, bytes);
    oldest->bytes = bytes;
    oldest->owner = symbolizer->owner;
    return oldest;
}

void sbx_symbolizer_forget(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes)
{
    for (size_t i = 0; i < symbolizer->entry_count; i++) {
        if (is_of(&symbolizer->entries[i], build_id, bytes)) {
            empty_entry(&symbolizer->entries[i]); /* for every owner */
        }
    }
}

void sbx_symbolizer_use_store(struct sbx_symbolizer *symbolizer, struct sbx_symbol_store *store)
{
    symbolizer->store = store;
    forget_missing(symbolizer);
}

void sbx_symbolizer_use_own_store(struct sbx_symbolizer *symbolizer, struct sbx_symbol_store *store, uint64_t owner)
{
    symbolizer->own_store = store;
    symbolizer->owner = store == NULL ? 0 : owner;
}

/* Look in one store for the entry's build-id. Its image and name are used if they are better than the present ones. */
static void look_in_one(struct sbx_symbol_store *store, struct entry *entry)
{
    struct sbx_symbol_image *image;
    int result = store == NULL ? -ENOENT
                               : sbx_symbol_store_find(store, entry->build_id, entry->bytes, (uint64_t)time(NULL),
                                                       CACHE_BYTES, &image);
    if (result != 0) {
        if (result != -EIO) { /* a symbol server that does not answer is skipped until it answers again */
            sbx_shortage_note(result);
        }
        return; /* a damaged image counts as none: there may be files */
    }
    if (entry->file != NULL && sbx_symbol_image_facts(image)->best != SBX_SYMBOLS_DWARF) {
        sbx_symbol_image_close(image);
        return;
    }
    const char *name = sbx_symbol_image_facts(image)->name;
    if (entry->path == NULL && name[0] != '\0') {
        entry->path = strdup(name); /* if memory runs out, the module has no name */
    }
    sbx_symbol_file_close(entry->file);
    entry->file = sbx_symbol_file_of_image(image);
}

/* Look in the stores. */
static void look_in_store(const struct sbx_symbolizer *symbolizer, struct entry *entry)
{
    look_in_one(symbolizer->own_store, entry);
    if (entry->file == NULL || !sbx_symbol_file_has_dwarf(entry->file)) {
        look_in_one(symbolizer->store, entry);
    }
}

void sbx_symbolizer_use_debuginfod(struct sbx_symbolizer *symbolizer, const struct sbx_debuginfod *server)
{
    symbolizer->debuginfod = server;
    forget_missing(symbolizer);
}

const char *sbx_symbolizer_debuginfod_trouble(struct sbx_symbolizer *symbolizer)
{
    if (!symbolizer->debuginfod_has_trouble) {
        return NULL;
    }
    symbolizer->debuginfod_has_trouble = false;
    memcpy(symbolizer->debuginfod_said, symbolizer->debuginfod_why, sizeof symbolizer->debuginfod_said);
    return symbolizer->debuginfod_said;
}

/* Look in the debuginfod server. Its file is used if it is better. It is no error if the server has none. */
static void look_in_debuginfod(struct sbx_symbolizer *symbolizer, struct entry *entry)
{
    struct sbx_symbol_image *image;
    char why[240];
    if (symbolizer->debuginfod_failed_s != 0 && symbolizer->now_s() - symbolizer->debuginfod_failed_s < REMEMBER_S) {
        return;
    }
    int result = sbx_debuginfod_image(symbolizer->debuginfod, entry->build_id, entry->bytes, CACHE_BYTES,
                                      symbolizer->store, &image, why, sizeof why);
    if (result == -ENOENT || result == -ENODATA) {
        return;
    }
    if (result != 0) {
        bool is_of_file = result == -EBADMSG || result == -EFBIG || result == -ECHILD;
        symbolizer->debuginfod_failed_s = is_of_file ? 0 : symbolizer->now_s(); /* another build-id may work */
        if (!symbolizer->debuginfod_has_trouble) {
            symbolizer->debuginfod_has_trouble = true;
            snprintf(symbolizer->debuginfod_why, sizeof symbolizer->debuginfod_why, "%.100s: %s",
                     symbolizer->debuginfod->url, why);
        }
        return;
    }
    bool is_better = entry->file == NULL || sbx_symbol_image_facts(image)->best == SBX_SYMBOLS_DWARF;
    struct sbx_symbol_file *file = is_better ? sbx_symbol_file_of_image(image) : NULL;
    if (!is_better) {
        sbx_symbol_image_close(image);
    } else if (file != NULL) {
        sbx_symbol_file_close(entry->file);
        entry->file = file;
    }
}

/* Use the store's image instead of what was found, if the store has one. */
static void take_from_store(const struct sbx_symbolizer *symbolizer, struct entry *entry)
{
    struct sbx_symbol_file *found = entry->file;
    char *path = entry->path;
    entry->file = NULL;
    entry->path = NULL;
    look_in_store(symbolizer, entry);
    if (entry->file == NULL) {
        entry->file = found;
        entry->path = path;
        return;
    }
    sbx_symbol_file_close(found);
    free(path);
}

/* The name of the module: by the file that was found (files in a debug folder or of a process do not tell it), else by
 * the index. */
static void name_entry(const struct sbx_symbolizer *symbolizer, struct entry *entry)
{
    const char *path = NULL;
    for (size_t i = 0; i < symbolizer->paths->count && path == NULL; i++) {
        const char *found = symbolizer->paths->paths[i];
        path = strstr(found, "/.build-id/") == NULL && strncmp(found, "/proc/", 6) != 0 ? found : NULL;
    }
    path = path != NULL ? path : sbx_elf_finder_index_path(symbolizer->finder, entry->build_id, entry->bytes);
    entry->path = path != NULL ? strdup(path) : NULL; /* if memory runs out, the module has no name */
}

static void look_for(struct sbx_symbolizer *symbolizer, struct entry *entry, const char *name)
{
    sbx_symbol_file_close(entry->file);
    free(entry->path);
    entry->file = NULL;
    entry->path = NULL;
    entry->looked_s = symbolizer->now_s();
    if (!entry->avoids_store) {
        look_in_store(symbolizer, entry);
    }
    if (entry->file != NULL && entry->path != NULL && sbx_symbol_file_has_dwarf(entry->file)) {
        return;
    }
    if (sbx_elf_finder_find(symbolizer->finder, entry->build_id, entry->bytes, name, symbolizer->paths) != 0) {
        symbolizer->paths->count = 0;
    }
    if (symbolizer->paths->count > 0 && (entry->file == NULL || !sbx_symbol_file_has_dwarf(entry->file))) {
        struct sbx_symbol_file *file = sbx_symbol_file_open(symbolizer->paths, entry->build_id, entry->bytes);
        if (entry->file == NULL || (file != NULL && sbx_symbol_file_has_dwarf(file))) {
            sbx_symbol_file_close(entry->file);
            entry->file = file;
        } else {
            sbx_symbol_file_close(file);
        }
    }
    if (entry->avoids_store && (entry->file == NULL || !sbx_symbol_file_has_dwarf(entry->file))) {
        take_from_store(symbolizer, entry); /* a part of it is better than nothing */
    }
    if (symbolizer->debuginfod != NULL && (entry->file == NULL || !sbx_symbol_file_has_dwarf(entry->file))) {
        look_in_debuginfod(symbolizer, entry);
    }
    if (entry->path == NULL) {
        name_entry(symbolizer, entry);
    }
}

struct sbx_symbol_file *sbx_symbolizer_file(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes,
                                            const char *name, const char **path_out)
{
    if (path_out != NULL) {
        *path_out = NULL;
    }
    if (symbolizer == NULL || bytes == 0 || bytes > 32) {
        return NULL;
    }
    struct entry *entry = entry_for(symbolizer, build_id, bytes);
    bool is_troubled = entry->file != NULL && sbx_symbol_file_is_troubled(entry->file);
    bool may_improve = is_troubled || entry->file == NULL || !sbx_symbol_file_has_dwarf(entry->file);
    if (entry->looked_s == 0 || (is_troubled && !entry->avoids_store) ||
        (may_improve && symbolizer->now_s() - entry->looked_s >= REMEMBER_S)) {
        entry->avoids_store = is_troubled;
        look_for(symbolizer, entry, name);
    }
    entry->used = ++symbolizer->turn;
    if (path_out != NULL) {
        *path_out = entry->path;
    }
    return entry->file;
}

struct sbx_symbol_file *sbx_symbolizer_file_for(struct sbx_symbolizer *symbolizer, const uint8_t *build_id,
                                                size_t bytes, const char *name, const uint64_t *addresses, size_t count,
                                                const char **path_out)
{
    struct sbx_symbol_file *file = sbx_symbolizer_file(symbolizer, build_id, bytes, name, path_out);
    if (file == NULL) {
        return NULL;
    }
    sbx_symbol_file_prefetch(file, addresses, count);
    return sbx_symbol_file_is_troubled(file) ? sbx_symbolizer_file(symbolizer, build_id, bytes, name, path_out) : file;
}

struct sbx_provider_map *sbx_symbolizer_providers(struct sbx_symbolizer *symbolizer)
{
    return symbolizer == NULL ? NULL : symbolizer->providers;
}
