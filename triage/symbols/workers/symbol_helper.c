/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_helper.c - a process that waits for files, and gives each to a worker. */
#include "symbol_helper.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "helper_process.h"
#include "symbol_worker.h"

/* The messages on the socket. Both sides are one program, because the helper is forked from it. */
struct question {
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    uint32_t build_id_bytes;
    char name[SBX_IMAGE_NAME_BYTES];
    uint64_t now_s;
    uint32_t in_count;
    bool has_alternate, has_parts;
};
struct result {
    int32_t result;
    char why[240];
};

static void serve(int socket)
{
    struct question question;
    struct sbx_helper_files files;
    /* The symbol files, the file to which dwz moved parts, the split debug information, and the file for the image. */
    while (sbx_helper_take(socket, &question, sizeof question, &files) &&
           files.count == question.in_count + question.has_alternate + question.has_parts + 1) {
        struct result result = {0};
        const int *more = &files.descriptors[question.in_count];
        int out = files.descriptors[files.count - 1];
        const struct sbx_making making = {.descriptors = files.descriptors,
                                          .descriptor_count = question.in_count,
                                          .alternate = question.has_alternate ? more[0] : -1,
                                          .parts = question.has_parts ? &more[question.has_alternate] : NULL,
                                          .part_count = question.has_parts,
                                          .build_id = question.build_id,
                                          .build_id_bytes = question.build_id_bytes,
                                          .name = question.name,
                                          .now_s = question.now_s,
                                          .out = out};
        result.result = sbx_symbol_worker_make(&making, 0, result.why, sizeof result.why); /* closes the other files */
        close(out);
        if (!sbx_helper_answer(socket, &result, sizeof result, -1)) {
            return;
        }
    }
}

struct sbx_symbol_helper {
    struct sbx_helper_process *process;
};

int sbx_symbol_helper_start(struct sbx_symbol_helper **helper_out)
{
    struct sbx_symbol_helper *helper = malloc(sizeof *helper);
    int result = helper == NULL ? -ENOMEM : sbx_helper_process_start("stallbox-sym", serve, &helper->process);
    if (result != 0) {
        free(helper);
        return result;
    }
    *helper_out = helper;
    return 0;
}

void sbx_symbol_helper_cancel(struct sbx_symbol_helper *helper)
{
    if (helper != NULL) {
        sbx_helper_process_cancel(helper->process);
    }
}

void sbx_symbol_helper_stop(struct sbx_symbol_helper *helper)
{
    if (helper != NULL) {
        sbx_helper_process_stop(helper->process);
        free(helper);
    }
}

int sbx_symbol_helper_make(struct sbx_symbol_helper *helper, const struct sbx_helper_making *making, char *why,
                           size_t why_bytes)
{
    struct result result = {0};
    struct sbx_helper_files files = {.count = making->in_count};
    struct question question = {.build_id_bytes = (uint32_t)making->build_id_bytes,
                                .now_s = making->now_s,
                                .in_count = (uint32_t)making->in_count,
                                .has_alternate = making->alternate >= 0,
                                .has_parts = making->parts >= 0};
    memcpy(files.descriptors, making->in, making->in_count * sizeof *making->in);
    if (making->alternate >= 0) {
        files.descriptors[files.count++] = making->alternate;
    }
    if (making->parts >= 0) {
        files.descriptors[files.count++] = making->parts;
    }
    files.descriptors[files.count++] = making->out;
    memcpy(question.build_id, making->build_id, sizeof question.build_id);
    memcpy(question.name, making->name, sizeof question.name);
    if (!sbx_helper_process_ask(helper->process, &question, sizeof question, &files, &result, sizeof result, NULL)) {
        snprintf(why, why_bytes, "the process that reads symbol files is gone");
        return -EPIPE;
    }
    result.why[sizeof result.why - 1] = '\0';
    snprintf(why, why_bytes, "%s", result.why);
    return result.result;
}
