/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_names.c - `stallbox symbols names`: makes maps of names from sources, so that a release has names before it
 * runs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "provider_map.h"
#include "source_list.h"
#include "symbols_verbs.h"
#include "terminal.h"

enum {
    BATCH_BYTES = 64 << 20, /* of sources in memory at a time, or one */
    BATCH_FILES = 2000,
};

/* ---- reading ---- */

static const char *words_of(int result)
{
    switch (result) {
    case -ECHILD:
        return "reading it ended the process that reads: the file is damaged";
    case -EBADMSG:
        return "it is damaged, or its source map is; the functions that could be read are kept";
    case -E2BIG:
        return "it names more than a map holds";
    default:
        return strerror(-result);
    }
}

/* Read sources [begin, end), which are in memory. Returns the exit status. */
static int read_batch(struct sbx_source_list *sources, size_t begin, size_t end, struct sbx_name_text mapping,
                      struct sbx_name_list lists[SBX_NAMES_RUNTIMES])
{
    int status = SBX_EXIT_DONE;
    size_t count = 0;
    struct sbx_names_job *jobs = calloc(end - begin + 1, sizeof *jobs);
    size_t *which = calloc(end - begin + 1, sizeof *which);
    if (jobs == NULL || which == NULL) {
        status = sbx_failure("symbols", "%s", strerror(ENOMEM));
    }
    for (size_t i = begin; i < end && status == SBX_EXIT_DONE; i++) {
        const struct sbx_source *source = &sources->sources[i];
        if (source->text != NULL) {
            which[count] = i;
            jobs[count++] = (struct sbx_names_job){.runtime = source->runtime,
                                                   .file = {source->file, strlen(source->file)},
                                                   .text = {source->text, source->bytes},
                                                   .map = source->runtime == SBX_NAMES_JAVA
                                                              ? mapping
                                                              : (struct sbx_name_text){source->map, source->map_bytes}};
        }
    }
    int result = status == SBX_EXIT_DONE ? sbx_names_worker_read(jobs, count, lists) : 0;
    if (result != 0) {
        status = sbx_failure("symbols", "no process to read sources in: %s", strerror(-result));
    }
    for (size_t i = 0; i < count && result == 0; i++) {
        if (jobs[i].result != 0) {
            status = sbx_failure("symbols", "%s: %s", sources->sources[which[i]].path, words_of(jobs[i].result));
        }
    }
    free(which);
    free(jobs);
    return status;
}

static int read_all(struct sbx_source_list *sources, struct sbx_name_text mapping,
                    struct sbx_name_list lists[SBX_NAMES_RUNTIMES])
{
    int status = SBX_EXIT_DONE;
    for (size_t begin = 0, end; begin < sources->count; begin = end) {
        size_t bytes = 0;
        for (end = begin; end < sources->count && end - begin < BATCH_FILES && bytes < BATCH_BYTES; end++) {
            int result = sbx_source_read(&sources->sources[end]);
            if (result != 0) {
                sbx_source_forget(&sources->sources[end]);
                status = sbx_failure("symbols", "%s: %s", sources->sources[end].path, strerror(-result));
            }
            bytes += sources->sources[end].bytes + sources->sources[end].map_bytes;
        }
        if (read_batch(sources, begin, end, mapping, lists) != SBX_EXIT_DONE) {
            status = SBX_EXIT_FAILED;
        }
        for (size_t i = begin; i < end; i++) {
            sbx_source_forget(&sources->sources[i]);
        }
        sbx_progress_show("reading sources", (unsigned long)end, (unsigned long)sources->count);
    }
    sbx_progress_clear();
    return status;
}

/* ---- writing ---- */

static void write_function(void *context, const struct sbx_provider_function *function)
{
    fprintf(context, "%016" PRIx64 "\t%" PRIu32 "\t%s\t%s%s%s\n", function->id, function->line, function->file,
            function->function, function->lines[0] != '\0' ? "\t" : "", function->lines);
}

/* Write the lines as a map, sorted, each id once. Returns the number of functions, or -errno. */
static int write_map(const char *path, const char *runtime, const struct sbx_name_list *list)
{
    char first[64], aside[4096 + 16];
    struct sbx_provider_map *map = sbx_provider_map_create();
    int length = snprintf(first, sizeof first, "stallbox-provider-map 1\t%s\n", runtime);
    char *text = malloc((size_t)length + list->bytes);
    int result = map == NULL || text == NULL ? -ENOMEM : 0;
    if (result == 0) {
        memcpy(text, first, (size_t)length);
        memcpy(text + length, list->text, list->bytes);
        result = sbx_provider_map_add(map, text, (size_t)length + list->bytes);
    }
    free(text);
    FILE *out = NULL;
    snprintf(aside, sizeof aside, "%s.new", path);
    if (result >= 0) {
        out = fopen(aside, "we");
        result = out == NULL ? -errno : (int)sbx_provider_map_count(map);
    }
    if (out != NULL) {
        fputs(first, out);
        sbx_provider_map_each(map, write_function, out);
        bool is_bad = ferror(out) != 0;
        if (fclose(out) != 0 || is_bad || rename(aside, path) != 0) {
            result = errno != 0 ? -errno : -EIO;
            unlink(aside);
        }
    }
    sbx_provider_map_destroy(map);
    return result;
}

/* Write the maps into a folder; `paths` gets the written ones. Returns the exit status. */
static int write_maps(const char *folder, struct sbx_name_list lists[SBX_NAMES_RUNTIMES], bool is_quiet,
                      char paths[SBX_NAMES_RUNTIMES][4096])
{
    int status = SBX_EXIT_DONE;
    for (int i = 0; i < SBX_NAMES_RUNTIMES; i++) {
        const char *runtime = sbx_names_runtime_name((enum sbx_names_runtime)i);
        paths[i][0] = '\0';
        if (lists[i].bytes == 0) {
            continue;
        }
        snprintf(paths[i], sizeof paths[i], "%s/provider-%s.map", folder, runtime);
        int result = write_map(paths[i], runtime, &lists[i]);
        if (result < 0) {
            status = sbx_failure("symbols", "%s: %s", paths[i], words_of(result));
            paths[i][0] = '\0';
        } else if (!is_quiet) {
            printf("wrote %s\n", paths[i]);
        }
    }
    return status;
}

/* The mark that the provider of Java puts on what had been compiled and runs without that (runtimes/hotspot/provider.c) is in no class. */
static void add_marks(struct sbx_name_list *java)
{
    const struct sbx_name_text file = {"<jvm>", 5}, name = {"(deoptimized)", 13}, nothing = {NULL, 0};
    if (java->bytes != 0) {
        sbx_name_list_add(java, sbx_name_id(file, 0, name), 0, file, name, nothing);
    }
}

/* The server's door takes maps: they are written aside for it. */
static int send_maps(const struct sbx_symbols_request *request, struct sbx_name_list lists[SBX_NAMES_RUNTIMES])
{
    const char *temporary = getenv("TMPDIR");
    char folder[2048], paths[SBX_NAMES_RUNTIMES][4096];
    const char *operands[SBX_NAMES_RUNTIMES];
    struct sbx_symbols_request sending = *request;
    snprintf(folder, sizeof folder, "%s/stallbox-names.XXXXXX",
             temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    if (mkdtemp(folder) == NULL) {
        return sbx_failure("symbols", "%s: %s", folder, strerror(errno));
    }
    int status = write_maps(folder, lists, true, paths);
    sending.operands = operands;
    sending.operand_count = 0;
    for (int i = 0; i < SBX_NAMES_RUNTIMES; i++) {
        if (paths[i][0] != '\0') {
            operands[sending.operand_count++] = paths[i];
        }
    }
    if (sending.operand_count > 0 && sbx_symbols_send(&sending) != SBX_EXIT_DONE) {
        status = SBX_EXIT_FAILED;
    }
    for (size_t i = 0; i < sending.operand_count; i++) {
        unlink(operands[i]);
    }
    rmdir(folder);
    return status;
}

int sbx_symbols_names(const struct sbx_symbols_request *request)
{
    struct sbx_source_list sources = {0};
    struct sbx_name_list lists[SBX_NAMES_RUNTIMES] = {{0}};
    int status = SBX_EXIT_DONE;
    for (size_t i = 0; i < request->operand_count; i++) {
        size_t before = sources.count;
        int result = sbx_source_list_add(&sources, request->operands[i]);
        if (result != 0) {
            status = sbx_failure("symbols", "%s: %s", request->operands[i],
                                 result == -ENOEXEC ? "no source of Python (.py) or JavaScript (.js, .cjs, .mjs), and "
                                                      "no classes of Java (.class, .jar, .war)"
                                                    : strerror(-result));
        } else if (sources.count == before) {
            status = sbx_failure("symbols", "%s: no source is in it", request->operands[i]);
        }
    }
    char *mapping = NULL;
    size_t mapping_bytes = 0;
    int result = request->mapping != NULL ? sbx_source_read_file(request->mapping, &mapping, &mapping_bytes) : 0;
    if (result != 0) {
        status = sbx_failure("symbols", "%s: %s", request->mapping, strerror(-result));
    }
    if (read_all(&sources, (struct sbx_name_text){mapping, mapping_bytes}, lists) != SBX_EXIT_DONE) {
        status = SBX_EXIT_FAILED;
    }
    add_marks(&lists[SBX_NAMES_JAVA]);
    char paths[SBX_NAMES_RUNTIMES][4096];
    int written = request->server_url != NULL
                      ? send_maps(request, lists)
                      : write_maps(request->output != NULL ? request->output : ".", lists, false, paths);
    for (int i = 0; i < SBX_NAMES_RUNTIMES; i++) {
        sbx_name_list_finish(&lists[i]);
    }
    free(mapping);
    sbx_source_list_finish(&sources);
    return status != SBX_EXIT_DONE ? status : written;
}
