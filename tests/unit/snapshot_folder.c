/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_folder.c - counts and reads what a recorder left in a folder. */
#include "snapshot_folder.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATH_BYTES = 512
};

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), suffix_length = strlen(suffix);
    return length > suffix_length && strcmp(name + length - suffix_length, suffix) == 0;
}

/* The next file of a listing whose name ends in `suffix`; NULL at the end, or without a listing. */
static const char *next_file(DIR *listing, const char *suffix)
{
    for (struct dirent *entry = listing != NULL ? readdir(listing) : NULL; entry != NULL; entry = readdir(listing)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && ends_with(entry->d_name, suffix)) {
            return entry->d_name;
        }
    }
    return NULL;
}

unsigned snapshot_folder_find(const char *folder, const char *suffix, char *path_out, size_t path_bytes)
{
    unsigned count = 0;
    DIR *listing = opendir(folder);
    for (const char *name = next_file(listing, suffix); name != NULL; name = next_file(listing, suffix)) {
        count++;
        if (path_out != NULL) {
            snprintf(path_out, path_bytes, "%s/%s", folder, name);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count;
}

unsigned snapshot_folder_count(const char *folder, const char *suffix)
{
    return snapshot_folder_find(folder, suffix, NULL, 0);
}

static int by_end(const void *a, const void *b)
{
    const struct sbx_snapshot *x = *(struct sbx_snapshot *const *)a, *y = *(struct sbx_snapshot *const *)b;
    return (x->header.trigger.end_ns > y->header.trigger.end_ns) -
           (x->header.trigger.end_ns < y->header.trigger.end_ns);
}

int snapshot_folder_visit(const char *folder, snapshot_folder_visitor *visit, void *context, char *why,
                          size_t why_bytes)
{
    int result = 0;
    DIR *listing = opendir(folder);
    for (const char *name = next_file(listing, SBX_RAW_SUFFIX); name != NULL && result == 0;
         name = next_file(listing, SBX_RAW_SUFFIX)) {
        char path[PATH_BYTES], damage[200] = "";
        struct sbx_snapshot *snapshot;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        const char *reason = sbx_snapshot_read_file(path, &snapshot, damage, sizeof damage) != 0
                                 ? damage
                                 : visit(context, path, snapshot);
        if (reason != NULL) {
            snprintf(why, why_bytes, "%s: %s", path, reason);
            result = -1;
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return result;
}

struct list {
    struct sbx_snapshot **snapshots;
    unsigned count, max;
    bool with_ends;
};

static const char *take(void *context, const char *path, struct sbx_snapshot *snapshot)
{
    struct list *list = context;
    (void)path;
    if (snapshot->header.trigger.kind == SBX_TRIGGER_END && !list->with_ends) {
        sbx_snapshot_destroy(snapshot);
        return NULL;
    }
    if (list->count == list->max) {
        sbx_snapshot_destroy(snapshot);
        return "is one more than there should be";
    }
    list->snapshots[list->count++] = snapshot;
    return NULL;
}

static unsigned read_folder(const char *folder, bool with_ends, struct sbx_snapshot **snapshots_out, unsigned max,
                            char *why, size_t why_bytes)
{
    struct list list = {.snapshots = snapshots_out, .max = max, .with_ends = with_ends};
    if (snapshot_folder_visit(folder, take, &list, why, why_bytes) != 0) {
        while (list.count > 0) {
            sbx_snapshot_destroy(snapshots_out[--list.count]);
        }
        return 0;
    }
    if (list.count == 0) {
        snprintf(why, why_bytes, "%s: no snapshot", folder);
    }
    qsort(snapshots_out, list.count, sizeof *snapshots_out, by_end);
    return list.count;
}

unsigned snapshot_folder_read(const char *folder, struct sbx_snapshot **snapshots_out, unsigned max, char *why,
                              size_t why_bytes)
{
    return read_folder(folder, false, snapshots_out, max, why, why_bytes);
}

unsigned snapshot_folder_read_with_ends(const char *folder, struct sbx_snapshot **snapshots_out, unsigned max,
                                        char *why, size_t why_bytes)
{
    return read_folder(folder, true, snapshots_out, max, why, why_bytes);
}

struct sbx_snapshot *snapshot_folder_read_only(const char *folder, char *why, size_t why_bytes)
{
    struct sbx_snapshot *snapshot;
    return snapshot_folder_read(folder, &snapshot, 1, why, why_bytes) == 1 ? snapshot : NULL;
}
