/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_sources.c - one symbolizer, which is made anew when necessary. */
#include "symbol_sources.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "symbol_store.h"
#include "symbolizer.h"

enum {
    /* A symbolizer remembers which files do not exist, and keeps files open. A new one finds files that came to the
     * symbol folders since, and bounds the number of open files. A new one costs some 0.1 s. */
    SYMBOLIZER_AGE_MAX_S = 300,
    ARRIVALS_MAX = 64, /* build-ids remembered; with more the symbolizer is made anew */
};

/* A file of "BUILD-ID PATH" lines that another program writes. It is read again when it has changed. */
struct index_file {
    char *path;
    struct timespec modified; /* time of the version that was read; zero: there was no file */
    off_t bytes;
    ino_t inode;
};

struct arrival {
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    size_t bytes;
};

struct sbx_symbol_sources {
    pthread_mutex_t lock;                  /* protects the members up to the empty line */
    struct arrival arrivals[ARRIVALS_MAX]; /* symbols that came and that the symbolizer does not know yet */
    size_t arrival_count;
    bool is_stale; /* the symbolizer must be made anew */

    char **symbol_dirs;
    size_t symbol_dir_count;
    struct index_file *indexes;
    size_t index_count;
    char *provider_dir; /* NULL: none */
    struct sbx_symbol_store *store;
    bool skips_local_files;
    const struct sbx_operator_log *log;
    struct sbx_symbolizer *symbolizer; /* NULL: made for the next payload */
    time_t made_s;
};

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Has the file appeared, disappeared or changed since it was read? Also remembers its new state. */
static bool has_index_changed(struct index_file *index)
{
    struct stat status = {0};
    if (stat(index->path, &status) < 0)
        status = (struct stat){0};
    if (status.st_mtim.tv_sec == index->modified.tv_sec && status.st_mtim.tv_nsec == index->modified.tv_nsec &&
        status.st_size == index->bytes && status.st_ino == index->inode)
        return false;
    index->modified = status.st_mtim;
    index->bytes = status.st_size;
    index->inode = status.st_ino;
    return true;
}

/* Let the symbolizer forget modules whose symbols came. Returns whether it must be made anew. */
static bool take_arrivals(struct sbx_symbol_sources *sources)
{
    pthread_mutex_lock(&sources->lock);
    bool is_stale = sources->is_stale;
    for (size_t i = 0; i < sources->arrival_count && sources->symbolizer; i++)
        sbx_symbolizer_forget(sources->symbolizer, sources->arrivals[i].build_id, sources->arrivals[i].bytes);
    sources->arrival_count = 0;
    sources->is_stale = false;
    pthread_mutex_unlock(&sources->lock);
    return is_stale;
}

struct sbx_symbolizer *sbx_symbol_sources_renew(struct sbx_symbol_sources *sources)
{
    bool changed =
        take_arrivals(sources) || sources->symbolizer == NULL || now_s() - sources->made_s > SYMBOLIZER_AGE_MAX_S;
    for (size_t i = 0; i < sources->index_count; i++)
        changed |= has_index_changed(&sources->indexes[i]);
    if (!changed)
        return sources->symbolizer;
    sbx_symbolizer_destroy(sources->symbolizer);
    sources->symbolizer = sbx_symbolizer_create((const char *const *)sources->symbol_dirs, sources->symbol_dir_count);
    if (!sources->symbolizer)
        return NULL;
    if (sources->skips_local_files)
        sbx_symbolizer_skip_local_files(sources->symbolizer);
    if (sources->store)
        sbx_symbolizer_use_store(sources->symbolizer, sources->store);
    if (sources->provider_dir) /* without memory only some names are missing */
        (void)sbx_provider_map_add_folder(sbx_symbolizer_providers(sources->symbolizer), sources->provider_dir);
    sources->made_s = now_s();
    for (size_t i = 0; i < sources->index_count; i++) {
        int result = sbx_symbolizer_add_index(sources->symbolizer, sources->indexes[i].path);
        if (result < 0 && result != -ENOENT)
            sbx_operator_log_of(sources->log, SBX_LOG_WARNING, "symbols",
                                (struct sbx_log_subject){"path", sources->indexes[i].path}, "%s: %s",
                                sources->indexes[i].path, strerror(-result));
    }
    return sources->symbolizer;
}

void sbx_symbol_sources_came(struct sbx_symbol_sources *sources, const uint8_t *build_id, size_t bytes)
{
    pthread_mutex_lock(&sources->lock);
    if (build_id && bytes <= sizeof(sources->arrivals->build_id) && sources->arrival_count < ARRIVALS_MAX) {
        struct arrival *arrival = &sources->arrivals[sources->arrival_count++];
        memcpy(arrival->build_id, build_id, bytes);
        arrival->bytes = bytes;
    } else {
        sources->is_stale = true;
    }
    pthread_mutex_unlock(&sources->lock);
}

/* ---- life ---- */

static int copy_places(struct sbx_symbol_sources *sources, const struct sbx_symbol_places *places)
{
    sources->symbol_dirs = calloc(places->symbol_dir_count + 1, sizeof(*sources->symbol_dirs));
    sources->indexes = calloc(places->index_path_count + 1, sizeof(*sources->indexes));
    if (!sources->symbol_dirs || !sources->indexes)
        return -ENOMEM;
    for (; sources->symbol_dir_count < places->symbol_dir_count; sources->symbol_dir_count++) {
        char *copy = strdup(places->symbol_dirs[sources->symbol_dir_count]);
        if (!copy)
            return -ENOMEM;
        sources->symbol_dirs[sources->symbol_dir_count] = copy;
    }
    for (; sources->index_count < places->index_path_count; sources->index_count++) {
        char *copy = strdup(places->index_paths[sources->index_count]);
        if (!copy)
            return -ENOMEM;
        sources->indexes[sources->index_count].path = copy;
    }
    return places->provider_dir && !(sources->provider_dir = strdup(places->provider_dir)) ? -ENOMEM : 0;
}

struct sbx_symbol_sources *sbx_symbol_sources_create(const struct sbx_symbol_places *places,
                                                     const struct sbx_operator_log *log)
{
    struct sbx_symbol_sources *sources = calloc(1, sizeof(*sources));
    if (!sources)
        return NULL;
    pthread_mutex_init(&sources->lock, NULL);
    sources->store = places->store;
    sources->skips_local_files = places->skips_local_files;
    sources->log = log;
    if (copy_places(sources, places) < 0) {
        sbx_symbol_sources_destroy(sources);
        return NULL;
    }
    return sources;
}

void sbx_symbol_sources_destroy(struct sbx_symbol_sources *sources)
{
    if (!sources)
        return;
    sbx_symbolizer_destroy(sources->symbolizer);
    for (size_t i = 0; sources->symbol_dirs && i < sources->symbol_dir_count; i++)
        free(sources->symbol_dirs[i]);
    for (size_t i = 0; sources->indexes && i < sources->index_count; i++)
        free(sources->indexes[i].path);
    free(sources->symbol_dirs);
    free(sources->indexes);
    free(sources->provider_dir);
    pthread_mutex_destroy(&sources->lock);
    free(sources);
}
