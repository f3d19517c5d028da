/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_helper.c - a process that sends requests to a debuginfod server, and keeps nothing. */
#include "fetch_helper.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper_process.h"

enum {
    URL_BYTES = 2048
};

struct sbx_fetch_helper {
    struct sbx_helper_process *process;
};

struct question {
    char url[URL_BYTES], folder[PATH_MAX];
    uint64_t max_bytes;
    uint32_t max_s, build_id_bytes;
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
};
struct result {
    int32_t result;
    char why[240];
};

/* ---- the helper ---- */

/* Make the folder, and remove its content. Links are not followed. */
static void clear_folder(char *folder)
{
    char *const roots[] = {folder, NULL};
    (void)mkdir(folder, 0700);
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;
    while (walk != NULL && (entry = fts_read(walk)) != NULL) {
        if (entry->fts_level > 0 && entry->fts_info != FTS_D) {
            (void)(entry->fts_info == FTS_DP ? rmdir(entry->fts_accpath) : unlink(entry->fts_accpath));
        }
    }
    if (walk != NULL) {
        fts_close(walk);
    }
}

static void serve(int socket)
{
    static struct question question;
    struct sbx_helper_files files;
    while (sbx_helper_take(socket, &question, sizeof question, &files) && files.count == 0) {
        struct result result = {0};
        const struct sbx_debuginfod server = {.url = question.url,
                                              .cache_folder = question.folder,
                                              .max_bytes = question.max_bytes,
                                              .max_s = question.max_s};
        int fd = -1;
        clear_folder(question.folder);
        result.result = sbx_debuginfod_fetch(&server, question.build_id, question.build_id_bytes, &fd, result.why,
                                             sizeof result.why);
        clear_folder(question.folder); /* libdebuginfod keeps "not found" as a file, for a long time */
        bool is_heard = sbx_helper_answer(socket, &result, sizeof result, fd);
        if (fd >= 0) {
            close(fd);
        }
        if (!is_heard) {
            return;
        }
    }
}

/* ---- the parent's side ---- */

int sbx_fetch_helper_start(struct sbx_fetch_helper **helper_out)
{
    struct sbx_fetch_helper *helper = malloc(sizeof *helper);
    int result = helper == NULL ? -ENOMEM : sbx_helper_process_start("stallbox-fetch", serve, &helper->process);
    if (result != 0) {
        free(helper);
        return result;
    }
    *helper_out = helper;
    return 0;
}

void sbx_fetch_helper_cancel(struct sbx_fetch_helper *helper)
{
    if (helper != NULL) {
        sbx_helper_process_cancel(helper->process);
    }
}

void sbx_fetch_helper_stop(struct sbx_fetch_helper *helper)
{
    if (helper != NULL) {
        sbx_helper_process_stop(helper->process);
        free(helper);
    }
}

int sbx_fetch_helper_fetch(struct sbx_fetch_helper *helper, const struct sbx_debuginfod *server,
                           const uint8_t *build_id, size_t bytes, int *fd_out, char *why, size_t why_bytes)
{
    struct question *question = calloc(1, sizeof *question);
    struct result result = {0};
    bool is_answered = false;
    *fd_out = -1;
    if (question == NULL || strlen(server->url) >= sizeof question->url ||
        strlen(server->cache_folder) >= sizeof question->folder || bytes > sizeof question->build_id) {
        result.result = question == NULL ? -ENOMEM : -EINVAL;
        snprintf(result.why, sizeof result.why, "%s", strerror(-result.result));
    } else {
        strcpy(question->url, server->url);
        strcpy(question->folder, server->cache_folder);
        question->max_bytes = server->max_bytes;
        question->max_s = server->max_s;
        question->build_id_bytes = (uint32_t)bytes;
        memcpy(question->build_id, build_id, bytes);
        is_answered =
            sbx_helper_process_ask(helper->process, question, sizeof *question, NULL, &result, sizeof result, fd_out);
        if (!is_answered) {
            result.result = -EPIPE;
            snprintf(result.why, sizeof result.why, "the process that asks debuginfod is gone");
        } else if (result.result == 0 && *fd_out < 0) { /* the helper had no free descriptor */
            result.result = -EMFILE;
            snprintf(result.why, sizeof result.why, "%s", strerror(EMFILE));
        }
    }
    free(question);
    result.why[sizeof result.why - 1] = '\0';
    snprintf(why, why_bytes, "%s", result.why);
    return result.result;
}
