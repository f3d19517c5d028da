/* SPDX-License-Identifier: Apache-2.0 */
/* stored_list.c - lists the entries of a symbol store as rows. */
#include "stored_list.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app_symbols.h"
#include "symbol_store.h"

enum {
    KEEP_S = 10,
    LISTS_MAX = 8 /* lists kept, each of one application */
};

struct kept {
    uint64_t app;
    struct sbx_stored_row *rows; /* NULL: must be read again */
    size_t count;
    uint64_t read_s;
};

struct sbx_stored_list {
    struct sbx_symbol_store *store;
    pthread_mutex_t lock; /* protects all of it */
    struct kept lists[LISTS_MAX];
};

struct sbx_stored_list *sbx_stored_list_create(struct sbx_symbol_store *store)
{
    struct sbx_stored_list *list = calloc(1, sizeof(*list));
    if (!list)
        return NULL;
    list->store = store;
    pthread_mutex_init(&list->lock, NULL);
    return list;
}

void sbx_stored_list_destroy(struct sbx_stored_list *list)
{
    if (!list)
        return;
    pthread_mutex_destroy(&list->lock);
    for (size_t i = 0; i < LISTS_MAX; i++)
        free(list->lists[i].rows);
    free(list);
}

static uint64_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

/* Find the list of an application, or a place for it: that of the list that was read longest ago. The lock is held. */
static struct kept *find(struct sbx_stored_list *list, uint64_t app)
{
    struct kept *oldest = &list->lists[0];
    for (size_t i = 0; i < LISTS_MAX; i++) {
        struct kept *kept = &list->lists[i];
        if (kept->rows && kept->app == app)
            return kept;
        if (oldest->rows && (!kept->rows || kept->read_s < oldest->read_s))
            oldest = kept;
    }
    free(oldest->rows);
    *oldest = (struct kept){.app = app};
    return oldest;
}

/* Read the entries of the application's part of the store: *entries_out is given. Returns 0 or -errno. */
static int read_entries(const struct sbx_stored_list *list, uint64_t app, struct sbx_store_entry **entries_out,
                        size_t *count_out)
{
    struct sbx_symbol_store *own = NULL;
    int result = app ? sbx_app_symbols_open(list->store, app, false, &own) : 0;
    if (result == 0)
        result = sbx_symbol_store_list(own ? own : list->store, entries_out, count_out);
    sbx_symbol_store_close(own);
    return result == -ENOENT ? 0 : result; /* no symbols were sent for it */
}

/* Returns 0 or -errno; the lock is held. */
static int renew(const struct sbx_stored_list *list, struct kept *kept)
{
    struct sbx_store_entry *entries = NULL;
    size_t count = 0;
    int result = read_entries(list, kept->app, &entries, &count);
    struct sbx_stored_row *rows = result == 0 ? calloc(count + 1, sizeof(*rows)) : NULL;
    for (size_t i = 0; rows && i < count; i++) {
        const struct sbx_store_entry *entry = &entries[i];
        rows[i] = (struct sbx_stored_row){.source = sbx_symbol_source_name(entry->facts.best),
                                          .is_damaged = entry->is_damaged,
                                          .functions = entry->facts.function_count,
                                          .stored_bytes = entry->file_bytes,
                                          .code_bytes = entry->facts.code_bytes,
                                          .added_ms = (int64_t)entry->facts.made_s * 1000,
                                          .used_ms = (int64_t)entry->used_s * 1000};
        snprintf(rows[i].build_id, sizeof(rows[i].build_id), "%s", entry->build_id);
        snprintf(rows[i].name, sizeof(rows[i].name), "%s", entry->facts.name);
    }
    free(entries);
    if (!rows)
        return result < 0 ? result : -ENOMEM;
    free(kept->rows);
    *kept = (struct kept){.app = kept->app, .rows = rows, .count = count, .read_s = now_s()};
    return 0;
}

int sbx_stored_list_get(struct sbx_stored_list *list, uint64_t app, struct sbx_stored_row **rows_out, size_t *count_out)
{
    *rows_out = NULL;
    *count_out = 0;
    pthread_mutex_lock(&list->lock);
    struct kept *kept = find(list, app);
    int result = !kept->rows || now_s() - kept->read_s >= KEEP_S ? renew(list, kept) : 0;
    if (result == 0 && (*rows_out = calloc(kept->count + 1, sizeof(**rows_out)))) {
        memcpy(*rows_out, kept->rows, kept->count * sizeof(**rows_out));
        *count_out = kept->count;
    } else if (result == 0) {
        result = -ENOMEM;
    }
    pthread_mutex_unlock(&list->lock);
    return result;
}

void sbx_stored_list_forget(struct sbx_stored_list *list, uint64_t app)
{
    pthread_mutex_lock(&list->lock);
    struct kept *kept = find(list, app);
    free(kept->rows);
    kept->rows = NULL;
    pthread_mutex_unlock(&list->lock);
}
