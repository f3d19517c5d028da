/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_replies.c - one function for the members of each answer. */
#include "symbol_replies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api_lists.h"
#include "json_document.h"
#include "pages.h"
#include "wall_clock.h"

enum {
    MISSING_MAX = 1000,
    PAGE_STORED_MAX = 200,
    AFTER_MAX = 100, /* new issues of one old issue */
    AGAIN_S = 5,
};

static const char *or_null(const char *text)
{
    return text && *text ? text : NULL;
}

static const char *result_of(const struct sbx_intake_answer *answer)
{
    static const char *const names[] = {
        [SBX_INTAKE_ADDED] = "added", [SBX_INTAKE_REPLACED] = "replaced",   [SBX_INTAKE_SAME] = "same",
        [SBX_INTAKE_KEPT] = "kept",   [SBX_INTAKE_DIFFERENT] = "different", [SBX_INTAKE_REFUSED] = "refused",
        [SBX_INTAKE_LATER] = "later"};
    return names[answer->outcome];
}

/* ---- an upload ---- */

static void give_json(struct sbx_document *json, unsigned status, struct sbx_reply *reply)
{
    sbx_byte_buffer_text(&json->text, "\n");
    reply->status = status;
    reply->content_type = "application/json";
    reply->body = json->text;
}

static void upload_json(const struct sbx_intake_answer *answer, struct sbx_reply *reply)
{
    struct sbx_document json = {0};
    bool is_there = answer->status < 400;
    sbx_document_open(&json, NULL, '{');
    sbx_document_string(&json, "result", result_of(answer));
    sbx_document_string(&json, "kind", answer->is_runtime ? "names of a runtime" : "code");
    sbx_document_string(&json, "build_id", or_null(answer->build_id));
    sbx_document_string(&json, "name", or_null(answer->name));
    sbx_document_string(&json, "reason", or_null(answer->why));
    if (is_there) {
        sbx_document_string(&json, "source", answer->source);
        sbx_document_string(&json, "before", answer->before);
        sbx_document_integer(&json, "functions", (int64_t)answer->functions);
        if (answer->is_runtime)
            sbx_document_integer(&json, "different", (int64_t)answer->different);
        sbx_document_integer(&json, "stalls", answer->stalls);
    }
    sbx_document_close(&json, '}');
    give_json(&json, answer->status, reply);
}

static void put_count(struct sbx_byte_buffer *out, uint64_t count, const char *what)
{
    sbx_byte_buffer_format(out, "%llu %s%s", (unsigned long long)count, what, count == 1 ? "" : "s");
}

/* The part of a line behind the name: "dwarf, 123 functions; 4 stalls are named anew". */
static void put_facts(struct sbx_byte_buffer *out, const struct sbx_intake_answer *answer)
{
    switch (answer->outcome) {
    case SBX_INTAKE_REPLACED:
        sbx_byte_buffer_format(out, " (what was there: %s)", answer->before ? answer->before : "damaged");
        break;
    case SBX_INTAKE_KEPT:
        sbx_byte_buffer_format(out, " (what is there is better: %s)", answer->before ? answer->before : "");
        break;
    default:
        break;
    }
    sbx_byte_buffer_text(out, ": ");
    if (answer->is_runtime) {
        put_count(out, answer->functions, "new function");
        if (answer->different)
            sbx_byte_buffer_format(out, ", %llu with other names stay as they are",
                                   (unsigned long long)answer->different);
    } else {
        sbx_byte_buffer_format(out, "%s, ", answer->source ? answer->source : "none");
        put_count(out, answer->functions, "function");
    }
    if (answer->stalls == 1)
        sbx_byte_buffer_text(out, "; 1 stall is named anew");
    else if (answer->stalls > 1)
        sbx_byte_buffer_format(out, "; %lld stalls are named anew", (long long)answer->stalls);
    if (*answer->why)
        sbx_byte_buffer_format(out, "; %s", answer->why);
}

static void upload_text(const struct sbx_intake_answer *answer, struct sbx_reply *reply)
{
    struct sbx_byte_buffer *out = &reply->body;
    static const char *const words[] = {
        [SBX_INTAKE_ADDED] = "added",     [SBX_INTAKE_REPLACED] = "replaced", [SBX_INTAKE_SAME] = "there already",
        [SBX_INTAKE_KEPT] = "not needed", [SBX_INTAKE_DIFFERENT] = "refused", [SBX_INTAKE_REFUSED] = "refused",
        [SBX_INTAKE_LATER] = "not now"};
    reply->status = answer->status;
    reply->content_type = SBX_TEXT_PLAIN;
    sbx_byte_buffer_text(out, words[answer->outcome]);
    if (answer->is_runtime)
        sbx_byte_buffer_format(out, " names of runtime %s", answer->name);
    else if (*answer->build_id)
        sbx_byte_buffer_format(out, " %s%s%s", answer->build_id, *answer->name ? " " : "", answer->name);
    if (answer->status < 400)
        put_facts(out, answer);
    else
        sbx_byte_buffer_format(out, ": %s", answer->why);
    sbx_byte_buffer_text(out, "\n");
}

void sbx_symbol_reply_upload(const struct sbx_intake_answer *answer, bool as_text, struct sbx_reply *reply)
{
    (as_text ? upload_text : upload_json)(answer, reply);
    reply->retry_after_s = answer->retry_after_s;
}

/* ---- lists ---- */

static void refuse_list(struct sbx_reply *reply)
{
    sbx_reply_text(reply, 503, "the store does not answer");
    reply->retry_after_s = AGAIN_S;
}

/* Put the symbols of the application itself before those of all applications. Returns 0 or -errno. */
static int add_own(const struct sbx_store_view *view, struct sbx_symbol_intake *intake, struct sbx_stored_row **rows,
                   size_t *count)
{
    struct sbx_stored_row *own = NULL;
    size_t own_count = 0;
    int result = sbx_symbol_intake_list(intake, view->app, &own, &own_count);
    struct sbx_stored_row *both = result == 0 ? calloc(own_count + *count + 1, sizeof(*both)) : NULL;
    if (both) {
        memcpy(both, own, own_count * sizeof(*both));
        memcpy(both + own_count, *rows, *count * sizeof(*both));
        free(*rows);
        *rows = both;
        *count += own_count;
    } else if (result == 0) {
        result = -ENOMEM;
    }
    free(own);
    return result;
}

/* List the symbols stored for all applications. A view of one application also gets the symbols that were sent for
 * it. */
static int list_stored(const struct sbx_store_view *view, struct sbx_symbol_intake *intake,
                       struct sbx_stored_row **rows_out, size_t *count_out)
{
    int result = sbx_symbol_intake_list(intake, 0, rows_out, count_out);
    if (result == 0 && view->app != 0)
        result = sbx_store_keep_sent(view, *rows_out, count_out);
    if (result == 0 && view->app != 0)
        result = add_own(view, intake, rows_out, count_out);
    if (result < 0) {
        free(*rows_out);
        *rows_out = NULL;
        *count_out = 0;
    }
    return result;
}

void sbx_symbol_reply_stored(const struct sbx_store_view *view, struct sbx_symbol_intake *intake,
                             struct sbx_reply *reply)
{
    struct sbx_stored_row *rows = NULL;
    struct sbx_document json = {0};
    size_t count = 0;
    if (list_stored(view, intake, &rows, &count) < 0) {
        refuse_list(reply);
        return;
    }
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "symbols", '[');
    for (size_t i = 0; i < count; i++) {
        sbx_document_open(&json, NULL, '{');
        sbx_document_string(&json, "build_id", rows[i].build_id);
        sbx_document_string(&json, "name", or_null(rows[i].name));
        sbx_document_bool(&json, "damaged", rows[i].is_damaged);
        sbx_document_string(&json, "source", rows[i].source);
        sbx_document_integer(&json, "functions", (int64_t)rows[i].functions);
        sbx_document_integer(&json, "code_bytes", (int64_t)rows[i].code_bytes);
        sbx_document_integer(&json, "stored_bytes", (int64_t)rows[i].stored_bytes);
        sbx_document_integer(&json, "added_ms", rows[i].added_ms);
        sbx_document_integer(&json, "used_ms", rows[i].used_ms);
        sbx_document_close(&json, '}');
    }
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    give_json(&json, 200, reply);
    free(rows);
}

void sbx_symbol_reply_missing(const struct sbx_store_view *view, struct sbx_reply *reply)
{
    struct sbx_missing_row *rows = calloc(MISSING_MAX, sizeof(*rows));
    struct sbx_document json = {0};
    size_t count = 0;
    if (!rows || sbx_store_missing(view, rows, MISSING_MAX, &count) < 0) {
        free(rows);
        refuse_list(reply);
        return;
    }
    sbx_document_open(&json, NULL, '{');
    sbx_document_open(&json, "missing", '[');
    for (size_t i = 0; i < count; i++) {
        sbx_document_open(&json, NULL, '{');
        sbx_document_string(&json, "build_id", rows[i].is_runtime ? NULL : rows[i].build_id);
        sbx_document_string(&json, "runtime", rows[i].is_runtime ? rows[i].build_id : NULL);
        sbx_document_string(&json, "name", or_null(rows[i].name));
        sbx_document_integer(&json, "stalls", rows[i].stalls);
        sbx_document_integer(&json, "frames", rows[i].frames);
        sbx_document_integer(&json, "last_ms", rows[i].last_ms);
        sbx_document_bool(&json, "came", rows[i].is_renamed);
        sbx_document_close(&json, '}');
    }
    sbx_document_close(&json, ']');
    sbx_document_close(&json, '}');
    give_json(&json, 200, reply);
    free(rows);
}

/* ---- the page ---- */

/* The address to send symbols to: the one that the reader of the page used. Plain http is allowed to this machine only,
 * so other addresses get https. People copy this host in a command, so it may have only the letters of a host name. */
static void print_address(const char *host, char *text, size_t bytes)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    if (!host || !*host || strlen(host) > 200 || strspn(host, letters) != strlen(host)) {
        snprintf(text, bytes, "https://THIS-ADDRESS");
        return;
    }
    size_t name = strcspn(host, ":");
    bool is_here = (name == 9 && strncasecmp(host, "localhost", 9) == 0) || strncmp(host, "[::1]", 5) == 0 ||
                   (strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") == name);
    snprintf(text, bytes, "%s://%s", is_here ? "http" : "https", host);
}

int sbx_symbol_reply_page(const struct sbx_store_view *view, struct sbx_symbol_intake *intake, const char *host,
                          struct sbx_reply *reply)
{
    struct sbx_stored_row *stored = NULL;
    struct sbx_missing_row *missing = calloc(MISSING_MAX, sizeof(*missing));
    struct sbx_symbols_page page = {.missing = missing};
    char address[256];
    int result = missing ? sbx_store_missing(view, missing, MISSING_MAX, &page.missing_count) : -ENOMEM;
    if (result == 0)
        result = list_stored(view, intake, &stored, &page.stored_count);
    if (result == 0) {
        print_address(host, address, sizeof(address));
        page.stored = stored;
        page.stored_shown = page.stored_count < PAGE_STORED_MAX ? page.stored_count : PAGE_STORED_MAX;
        page.address = address;
        page.now_ms = sbx_wall_clock_ms();
        reply->status = 200;
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_symbols(&page, &reply->body);
    }
    free(stored);
    free(missing);
    return result;
}

/* ---- issues that moved ---- */

int sbx_symbol_reply_moved(const struct sbx_store_view *view, const uint8_t issue[SBX_ID_BYTES], bool as_page,
                           struct sbx_reply *reply)
{
    struct sbx_issue_after *rows = calloc(AFTER_MAX, sizeof(*rows));
    size_t count = 0;
    int result = rows ? sbx_store_issues_after(view, issue, rows, AFTER_MAX, &count) : -ENOMEM;
    if (result == 0 && count == 0)
        result = -ENOENT;
    if (result == 0 && count == 1) {
        sbx_reply_text(reply, 302, "symbols came, and its stalls are in issue %s now", rows[0].id_text);
        snprintf(reply->location, sizeof(reply->location), "%s%s", as_page ? "/issues/" : "/v1/issues/",
                 rows[0].id_text);
    } else if (result == 0 && as_page) {
        reply->status = 200;
        reply->content_type = SBX_TEXT_HTML;
        sbx_page_moved(rows, count, &reply->body);
    } else if (result == 0) {
        sbx_api_moved(rows, count, reply);
    }
    free(rows);
    return result;
}
