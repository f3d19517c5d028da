/* SPDX-License-Identifier: Apache-2.0 */
/* stall_replies.c - answers about one stall. */
#include "stall_replies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_lists.h"
#include "pages.h"
#include "wall_clock.h"

enum {
    RENDER_AGAIN_S = 1,
};

/* Find a rendering: a kept one, or the one that was made for this request. `bytes`: of the payload. Returns 0 and its
 * bytes, -EINPROGRESS when it must be made first (the need of the request then names it), -ENOENT when it can no longer
 * be made, or another -errno. */
static int find_rendering(struct sbx_renderings *renderings, const struct sbx_request *request,
                          const uint8_t id[SBX_ID_BYTES], enum sbx_rendering kind, int64_t bytes,
                          struct sbx_byte_buffer *body)
{
    if (request->made) {
        if (request->made->result == 0)
            sbx_byte_buffer_append(body, request->made->body.data, request->made->body.used);
        return request->made->result;
    }
    int result = sbx_renderings_get(renderings, id, kind, body);
    if (result == 0 || bytes == 0 || !request->need)
        return result;
    *request->need = (struct sbx_need){.is_there = true, .kind = kind};
    memcpy(request->need->id, id, SBX_ID_BYTES);
    return -EINPROGRESS;
}

static const char *why_not(const struct sbx_request *request, int result)
{
    return request->made && *request->made->why ? request->made->why : strerror(-result);
}

/* Read the variants that the arguments ask for. -EINVAL: the refusal is in `reply`. */
static int read_look(const struct sbx_arguments *arguments, struct sbx_stall_look *look, struct sbx_reply *reply)
{
    *look = (struct sbx_stall_look){.is_async = false};
    for (size_t i = 0; i < arguments->count; i++) {
        const char *name = arguments->each[i].name, *value = arguments->each[i].value;
        bool is_stacks = strcmp(name, "stacks") == 0;
        const char *only = is_stacks ? "async" : "history";
        if (*value && strcmp(value, only) != 0) {
            sbx_reply_text(reply, 400, "argument %s is %s, or is left out", name, only);
            return -EINVAL;
        }
        if (is_stacks)
            look->is_async = *value != '\0';
        else
            look->is_history = *value != '\0';
    }
    return 0;
}

void sbx_stall_reply_page(struct sbx_renderings *renderings, const struct sbx_request *request,
                          const uint8_t id[SBX_ID_BYTES], struct sbx_reply *reply)
{
    struct sbx_snapshot_row row;
    struct sbx_issue_row issue;
    struct sbx_byte_buffer report = {0};
    struct sbx_stall_look look;
    uint8_t issue_id[SBX_ID_BYTES];
    if (read_look(&request->arguments, &look, reply) < 0)
        return;
    int result = sbx_store_snapshot(&request->view, id, &row);
    if (result < 0) {
        sbx_refuse_for(request, reply, result);
        return;
    }
    bool has_report = false;
    if (row.state == SBX_TRIAGE_DONE) {
        result = find_rendering(renderings, request, id, SBX_RENDERING_PAGE, row.bytes, &report);
        if (result == -EINPROGRESS)
            return;
        has_report = result == 0;
        if (result < 0 && result != -ENOENT && result != -EAGAIN &&
            result != -ECANCELED) { /* the page says so, and shows what is known without a report */
            row.state = SBX_TRIAGE_FAILED;
            snprintf(row.failure, sizeof(row.failure), "its report cannot be made: %.160s", why_not(request, result));
        }
    }
    bool has_issue = sbx_id_parse(row.issue_text, strlen(row.issue_text), issue_id) &&
                     sbx_store_issue(&request->view, issue_id, &issue) == 0;
    enum {
        KIN_MAX = 64 /* the number of seats of a family */
    };
    size_t kin_count = 0;
    struct sbx_snapshot_row *kin = row.kin > 1 ? calloc(KIN_MAX, sizeof(*kin)) : NULL;
    if (kin && sbx_store_kin(&request->view, id, kin, KIN_MAX, &kin_count) < 0)
        kin_count = 0; /* the page of the stall itself is still shown */
    reply->status = 200;
    reply->content_type = SBX_TEXT_HTML;
    sbx_page_stall(&row, has_issue ? &issue : NULL, kin, kin_count, has_report ? &report : NULL, look,
                   sbx_wall_clock_ms(), &reply->body);
    sbx_byte_buffer_finish(&report);
    free(kin);
}

void sbx_stall_reply_json(const struct sbx_request *request, const uint8_t id[SBX_ID_BYTES], struct sbx_reply *reply)
{
    struct sbx_snapshot_row row;
    int result = sbx_store_snapshot(&request->view, id, &row);
    if (result == 0)
        sbx_api_snapshot(&row, reply);
    else
        sbx_refuse_for(request, reply, result);
}

/* ---- downloads ---- */

static const struct download {
    const char *suffix, *content_type, *file_suffix;
    int rendering; /* -1: the envelope as received */
} downloads[] = {
    {"json", "application/json", NULL, SBX_RENDERING_JSON},
    {"perfetto", "application/octet-stream", "pftrace", SBX_RENDERING_PERFETTO},
    {"pprof", "application/octet-stream", "pb.gz", SBX_RENDERING_PPROF},
    {"folded", SBX_TEXT_PLAIN, NULL, SBX_RENDERING_FOLDED},
    {"async.pprof", "application/octet-stream", "async.pb.gz", SBX_RENDERING_ASYNC_PPROF},
    {"async.folded", SBX_TEXT_PLAIN, NULL, SBX_RENDERING_ASYNC_FOLDED},
    {"timeline", "application/json", NULL, SBX_RENDERING_TIMELINE},
    {"sbx", "application/octet-stream", "sbx", -1},
};

static const struct download *find_download(const char *suffix)
{
    for (size_t i = 0; i < sizeof(downloads) / sizeof(downloads[0]); i++)
        if (strcmp(downloads[i].suffix, suffix) == 0)
            return &downloads[i];
    return NULL;
}

/* Say why there is no rendering. */
static void refuse_rendering(const struct sbx_request *request, const struct sbx_snapshot_row *row, int result,
                             struct sbx_reply *reply)
{
    if (row->state == SBX_TRIAGE_FAILED) {
        sbx_reply_text(reply, 404, "triage failed: %s", row->failure);
    } else if (row->state == SBX_TRIAGE_PENDING || result == -EAGAIN || result == -ECANCELED) {
        sbx_reply_text(reply, 503, "the report is not made yet; ask again");
        reply->retry_after_s = RENDER_AGAIN_S;
    } else if (row->bytes == 0 || result == -ENOENT) {
        sbx_reply_text(reply, 410, "its payload was aged out; what was said of it is at /v1/snapshots/%s",
                       row->id_text);
    } else {
        sbx_reply_text(reply, 500, "the report cannot be made: %s", why_not(request, result));
    }
}

void sbx_stall_reply_download(struct sbx_renderings *renderings, const struct sbx_request *request,
                              const uint8_t id[SBX_ID_BYTES], const char *suffix, struct sbx_reply *reply)
{
    const struct download *download = find_download(suffix);
    if (!download) {
        sbx_refuse(request, reply, 404,
                   "a snapshot is available as .json, .perfetto, .pprof, .folded, .async.pprof, .async.folded, "
                   ".timeline and .sbx");
        return;
    }
    /* The snapshot itself is read first, because what is made of a withheld row is withheld as well. An envelope is
     * refused with --min-machines, because it names the builds of all modules. */
    struct sbx_snapshot_row row;
    int result = sbx_store_snapshot(&request->view, id, &row);
    if (result == 0 && download->rendering < 0 && sbx_store_min_machines(request->view.store) > 1) {
        sbx_refuse(request, reply, 403, "a server with --min-machines offers no payloads for download");
        return;
    }
    if (result == 0 && download->rendering >= 0) {
        result = row.state != SBX_TRIAGE_DONE
                     ? -EAGAIN
                     : find_rendering(renderings, request, id, (enum sbx_rendering)download->rendering, row.bytes,
                                      &reply->body);
        if (result == -EINPROGRESS)
            return;
        if (result < 0) {
            refuse_rendering(request, &row, result, reply);
            return;
        }
    } else if (result == 0) {
        result = sbx_store_envelope(&request->view, id, &reply->body);
    }
    if (result < 0) {
        sbx_refuse_for(request, reply, result);
        return;
    }
    reply->status = 200;
    reply->content_type = download->content_type;
    if (download->file_suffix) {
        char text[SBX_ID_TEXT_BYTES];
        sbx_id_print(id, text);
        snprintf(reply->file_name, sizeof(reply->file_name), "stall-%s.%s", text, download->file_suffix);
    }
}
