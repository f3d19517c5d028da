/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - `stallbox report`: what stalled and why, from files, without a server. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attribute.h"
#include "command.h"
#include "debuginfod_option.h"
#include "exporters.h"
#include "options.h"
#include "payload_ends.h"
#include "payload_list.h"
#include "print_json.h"
#include "print_text.h"
#include "report.h"
#include "stall.h"
#include "symbol_store_option.h"
#include "symbolizer.h"
#include "terminal.h"
#include "unseal_key_files.h"

/* One way to write a report. */
struct format {
    const char *name;
    const char *suffix; /* of the files that -o FOLDER makes */
    int (*print)(const struct sbx_report *report, FILE *out);
    bool binary; /* one snapshot a file, and nothing for a terminal */
};

static int print_plain_text(const struct sbx_report *report, FILE *out)
{
    return sbx_print_text(report, out, sbx_terminal_has_colour(out));
}

static int print_first_screen(const struct sbx_report *report, FILE *out)
{
    return sbx_print_first_screen(report, out, sbx_terminal_has_colour(out));
}

static const struct format formats[] = {
    {"text", ".txt", print_plain_text, false},
    {"json", ".json", sbx_print_json, false},
    {"perfetto", ".perfetto", sbx_print_perfetto, true},
    {"folded", ".folded", sbx_print_folded, false},
    {"pprof", ".pprof", sbx_print_pprof, true},
    {"async-folded", ".async.folded", sbx_print_async_folded, false},
    {"async-pprof", ".async.pprof", sbx_print_async_pprof, true},
};
static const struct format first_screen = {"text", ".txt", print_first_screen, false}; /* text without --all */
enum {
    FORMAT_COUNT = sizeof formats / sizeof formats[0]
};

enum {
    OPTION_FORMAT,
    OPTION_SYMBOLS,
    OPTION_OUTPUT,
    OPTION_UNSEAL_KEY,
    OPTION_ALL,
    OPTION_STORE,
    OPTION_DEBUGINFOD,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_FORMAT] = {"--format", 'f', "FORMAT",
                       "text (default), json (one object a line), perfetto,\nfolded (for flame graphs) or pprof; "
                       "async-folded and\nasync-pprof put the stack that queued a task under the one that ran it"},
    [OPTION_ALL] = {"--all", 'a', NULL, "as text: everything of each snapshot, not a list or a first screen"},
    [OPTION_SYMBOLS] = {"--symbols", 's', "DIR", "also look for ELF and debug files here; may be repeated"},
    [OPTION_STORE] =
        {"--store", 'S', "DIR|URL",
         "names that `stallbox symbols add` keeps: a folder (default: the\nuser's own), or redis://HOST:PORT"},
    [OPTION_DEBUGINFOD] = {"--debuginfod", 0, "URL", "ask this debuginfod server for names that are not here"},
    [OPTION_OUTPUT] =
        {"--output", 'o', "PATH",
         "write there instead of to standard output: a file, or a\nfolder that gets one ID.FORMAT a snapshot"},
    [OPTION_UNSEAL_KEY] = {"--unseal-key", 'k', "FILE",
                           "open sealed payloads with this secret key of `stallbox seal\nkeygen`; may be repeated"},
};

struct request {
    const struct format *format;
    const char **symbol_dirs; /* symbol_dir_count; borrowed from argv */
    size_t symbol_dir_count;
    const char *store;      /* NULL: the user's own */
    const char *debuginfod; /* URL; NULL: none is asked */
    const char *output;     /* NULL: standard output */
    bool output_is_folder;
    bool all;           /* as text: no list, and no first screen alone */
    const char **paths; /* path_count; borrowed from argv */
    size_t path_count;
    const char **ids; /* id_count beginnings of ids to choose; borrowed from argv. None: all there is */
    size_t id_count;
    struct sbx_unseal_keys unseal_keys;
    struct sbx_payload_ends ends; /* of the stalls in the list */
};

void sbx_usage_report(FILE *out)
{
    fputs("usage: stallbox report [OPTION]... PATH... [ID]...\n"
          "\n"
          "Say what stalled and why. A PATH is a spool folder, a payload (*.sbx) or a raw snapshot (*.raw). From a\n"
          "spool, waiting payloads, snapshots not encoded yet and recently sent payloads are reported, each once,\n"
          "oldest first.\n"
          "\n"
          "Several snapshots as text are a list, newest first. An ID of the list, or its first letters, chooses one.\n"
          "One snapshot is a screen: verdict, evidence, culprit, the stack. --all prints everything.\n"
          "\n",
          out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\n"
          "perfetto, pprof and async-pprof hold one snapshot a file: for several, name a folder with -o (it is made "
          "when missing).\n"
          "Code is named from the store of `stallbox symbols add`, the files the spool remembers (SPOOL/modules), "
          "--symbols,\n"
          "and the usual places of this machine; a file counts only if its build-id is the recorded one.\n"
          "\n"
          "A PATH that cannot be read is named on standard error. The others are still reported, and the exit status\n"
          "is 1.\n",
          out);
}

/* ---- the command line ---- */

static bool choose_format(const char *name, struct request *request)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (strcmp(formats[i].name, name) == 0) {
            request->format = &formats[i];
            return true;
        }
    }
    sbx_usage_error(
        "report", "unknown format '%s'; it is text, json, perfetto, folded, pprof, async-folded or async-pprof", name);
    return false;
}

/* Is it the begin of an id, not a path: hex digits that are not a file here? */
static bool is_id(const char *operand)
{
    size_t bytes = strlen(operand);
    return bytes > 0 && bytes <= 32 && strspn(operand, "0123456789abcdef") == bytes && access(operand, F_OK) != 0;
}

/* Returns SBX_EXIT_DONE to go on, or the exit status; *help_out: only help was wanted. */
static int read_options(int argc, char **argv, struct request *request, bool *help_out)
{
    char why[PATH_MAX + 128];
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "report", options, OPTION_COUNT, argc, argv);
    for (;;) {
        switch (sbx_option_next(&reader)) {
        case OPTION_FORMAT:
            if (!choose_format(reader.value, request)) {
                return SBX_EXIT_USAGE;
            }
            break;
        case OPTION_SYMBOLS:
            request->symbol_dirs[request->symbol_dir_count++] = reader.value;
            break;
        case OPTION_UNSEAL_KEY:
            if (sbx_unseal_key_file_add(&request->unseal_keys, reader.value, why, sizeof why) != 0) {
                return sbx_failure("report", "%s", why);
            }
            break;
        case OPTION_OUTPUT:
            request->output = reader.value;
            break;
        case OPTION_ALL:
            request->all = true;
            break;
        case OPTION_STORE:
            request->store = reader.value;
            break;
        case OPTION_DEBUGINFOD:
            request->debuginfod = reader.value;
            break;
        case SBX_OPTION_OPERAND:
            if (request->path_count > 0 && is_id(reader.value)) {
                request->ids[request->id_count++] = reader.value;
            } else {
                request->paths[request->path_count++] = reader.value;
            }
            break;
        case SBX_OPTION_HELP:
            *help_out = true;
            return SBX_EXIT_DONE;
        case SBX_OPTION_END:
            return request->path_count > 0
                       ? SBX_EXIT_DONE
                       : sbx_usage_error("report", "no PATH: which spool, payload or raw snapshot?");
        default:
            return SBX_EXIT_USAGE;
        }
    }
}

/* Decide where `count` reports go. Returns SBX_EXIT_DONE, or the exit status after a message. */
static int prepare_output(struct request *request, size_t count)
{
    if (request->output == NULL) {
        if (!request->format->binary) {
            return SBX_EXIT_DONE;
        }
        if (count > 1) {
            return sbx_usage_error("report", "%zu snapshots do not fit one %s file; name a folder with -o", count,
                                   request->format->name);
        }
        return isatty(STDOUT_FILENO)
                   ? sbx_usage_error("report", "%s is not for a terminal; name a file with -o", request->format->name)
                   : SBX_EXIT_DONE;
    }
    struct stat status;
    if (stat(request->output, &status) == 0) {
        request->output_is_folder = S_ISDIR(status.st_mode);
        if (!request->output_is_folder && request->format->binary && count > 1) {
            return sbx_usage_error("report", "%zu snapshots do not fit one %s file, and %s is no folder", count,
                                   request->format->name, request->output);
        }
        return SBX_EXIT_DONE;
    }
    bool wants_folder = request->output[strlen(request->output) - 1] == '/';
    if (wants_folder || (request->format->binary && count > 1)) {
        if (mkdir(request->output, 0777) != 0) {
            return sbx_failure("report", "%s: %s", request->output, strerror(errno));
        }
        request->output_is_folder = true;
    }
    return SBX_EXIT_DONE;
}

/* ---- the reports ---- */

/* One line of the list. */
struct row {
    int64_t packed_ns, duration_ns;
    bool in_progress, is_crash; /* is_crash: one that ended no stall, which has no duration */
    char application[64], headline[240];
    char id[33];
};

/* The reported payloads, so that each is reported once. */
struct reported {
    char (*ids)[33]; /* room for one an entry */
    size_t count;
    struct row *rows; /* the same of a list; NULL: no list is wanted */
};

static bool was_reported(const struct reported *reported, const char *id)
{
    for (size_t i = 0; i < reported->count; i++) {
        if (strcmp(reported->ids[i], id) == 0) {
            return true;
        }
    }
    return false;
}

/* A payload has only the day. The time of day is that of its file, unless the file was copied on another day. */
static void set_time(struct sbx_report *report, const struct sbx_payload_entry *entry)
{
    int64_t day = entry->time_ns / 1000000000 / 86400, created = report->stall->created_day;
    report->packed_ns = created == 0 || (day >= created - 1 && day <= created + 1) ? entry->time_ns : 0;
}

static void note_row(const struct sbx_report *report, struct row *row)
{
    row->packed_ns = report->packed_ns;
    row->duration_ns = sbx_stall_lasted_ns(report->stall);
    row->in_progress = report->stall->trigger.in_progress && report->stall->end.how != SBX_END_ANSWERED;
    row->is_crash = report->verdict.cause == SBX_CAUSE_CRASH && row->duration_ns == 0;
    snprintf(row->application, sizeof row->application, "%s", report->app_name);
    snprintf(row->headline, sizeof row->headline, "%s", report->verdict.headline);
    snprintf(row->id, sizeof row->id, "%s", report->stall->payload_id_text);
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->packed_ns != b->packed_ns) {
        return a->packed_ns > b->packed_ns ? -1 : 1;
    }
    return strcmp(a->id, b->id);
}

/* The number of letters of an id that make all rows distinct. */
static size_t telling_letters(const struct row *rows, size_t count)
{
    size_t letters = 8;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) { /* a spool holds some hundred payloads */
            while (letters < 32 && strncmp(rows[i].id, rows[k].id, letters) == 0) {
                letters++;
            }
        }
    }
    return letters;
}

/* A name or a headline may have any bytes; none may control the terminal. */
static void put_clean(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        bool is_c1 = c == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0;
        fputc(c < 0x20 || c == 0x7f || is_c1 ? '?' : c, out);
        text += is_c1;
    }
}

static int print_list(struct row *rows, size_t count, FILE *out)
{
    int letters = (int)telling_letters(rows, count);
    qsort(rows, count, sizeof *rows, compare_rows);
    size_t crashes = 0;
    for (size_t i = 0; i < count; i++) {
        crashes += rows[i].is_crash;
    }
    if (crashes > 0) {
        fprintf(out, "%zu stall%s and %zu crash%s", count - crashes, count - crashes == 1 ? "" : "s", crashes,
                crashes == 1 ? "" : "es");
    } else {
        fprintf(out, "%zu stalls", count);
    }
    fputs(", newest first; one of them: add its ID; everything: --all\n\n", out);
    for (size_t i = 0; i < count; i++) {
        char when[32] = "day and time unknown", duration[24];
        time_t seconds = (time_t)(rows[i].packed_ns / 1000000000);
        struct tm local;
        if (rows[i].packed_ns > 0 && localtime_r(&seconds, &local) != NULL) {
            strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &local);
        }
        if (rows[i].is_crash) {
            snprintf(duration, sizeof duration, "crash");
        } else {
            snprintf(duration, sizeof duration, "%.2f s%s", (double)rows[i].duration_ns / 1e9,
                     rows[i].in_progress ? "+" : "");
        }
        fprintf(out, "%-19s  %.*s  %9s  ", when, letters, rows[i].id, duration);
        put_clean(out, rows[i].application);
        fputs(": ", out);
        put_clean(out, rows[i].headline);
        fputc('\n', out);
    }
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

static int print_one(const struct request *request, const struct sbx_report *report, FILE *shared_out)
{
    if (!request->output_is_folder) {
        return request->format->print(report, shared_out);
    }
    char *path = NULL;
    if (asprintf(&path, "%s/%s%s", request->output, report->stall->payload_id_text, request->format->suffix) < 0) {
        return -ENOMEM;
    }
    FILE *out = fopen(path, "we");
    int result = out == NULL ? -errno : request->format->print(report, out);
    if (out != NULL && fclose(out) != 0 && result == 0) {
        result = -errno;
    }
    if (result != 0) {
        sbx_failure("report", "%s: %s", path, strerror(-result));
    }
    free(path);
    return result;
}

/* Report one entry, unless it was reported already. Returns 0; -1 after a message when it cannot be read; -2 when the
 * output fails, so that it is useless to go on. */
static int report_one(const struct request *request, const struct sbx_payload_entry *entry,
                      struct sbx_symbolizer *symbolizer, FILE *out, struct reported *reported)
{
    char why[240];
    struct sbx_stall *stall = NULL;
    struct sbx_report *report = NULL;
    int result = sbx_payload_load(entry, &request->unseal_keys, symbolizer, &stall, why, sizeof why);
    if (result == 0 && was_reported(reported, stall->payload_id_text)) {
        sbx_stall_destroy(stall);
        return 0;
    }
    if (result == 0) {
        sbx_payload_ends_complete(&request->ends, stall);
        result = sbx_report_create(stall, symbolizer, &report);
        result = result == 0 ? sbx_attribute(report) : result;
        snprintf(why, sizeof why, "%s", strerror(-result));
    }
    sbx_progress_clear();
    if (result != 0) {
        sbx_failure("report", "%s: %s", entry->path, why);
        sbx_report_destroy(report);
        sbx_stall_destroy(stall);
        return -1;
    }
    if (reported->count > 0 && out != NULL && !request->format->binary && reported->rows == NULL &&
        strcmp(request->format->name, "text") == 0) {
        fputc('\n', out);
    }
    set_time(report, entry);
    if (reported->rows != NULL) {
        note_row(report, &reported->rows[reported->count]);
    }
    memcpy(reported->ids[reported->count++], stall->payload_id_text, sizeof *reported->ids);
    result = reported->rows != NULL ? 0 : print_one(request, report, out);
    if (result != 0 && !request->output_is_folder) {
        sbx_failure("report", "%s: %s", request->output == NULL ? "standard output" : request->output,
                    strerror(-result));
    }
    sbx_report_destroy(report);
    sbx_stall_destroy(stall);
    return result == 0 ? 0 : -2;
}

/* With several snapshots as text and none chosen, the reader first wants to see a list. */
static bool wants_list(const struct request *request, const struct sbx_payload_list *list)
{
    return strcmp(request->format->name, "text") == 0 && !request->all && request->id_count == 0 &&
           !request->output_is_folder && sbx_payload_list_distinct(list) > 1;
}

static int report_all(const struct request *request, const struct sbx_payload_list *list, FILE *out)
{
    int status = SBX_EXIT_DONE;
    bool is_list = wants_list(request, list);
    struct reported reported = {.ids = calloc(list->count, sizeof *reported.ids),
                                .rows = is_list ? calloc(list->count, sizeof *reported.rows) : NULL};
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(request->symbol_dirs, request->symbol_dir_count);
    struct sbx_symbol_store *store = NULL;
    if (symbolizer == NULL || reported.ids == NULL || (is_list && reported.rows == NULL)) {
        status = sbx_failure("report", "%s", strerror(ENOMEM));
        goto free_both;
    }
    bool may_create = request->store != NULL && request->debuginfod != NULL; /* for what is fetched */
    if (sbx_symbol_store_option_open("report", request->store, SBX_SYMBOL_TENANT, may_create, &store) !=
        SBX_EXIT_DONE) {
        status = SBX_EXIT_FAILED; /* the message names it; names may be missing, but the report is still wanted */
    }
    if (store != NULL) {
        sbx_symbolizer_use_store(symbolizer, store);
    }
    static struct sbx_debuginfod_option debuginfod;
    int asked = sbx_debuginfod_option_use("report", request->debuginfod, &debuginfod, symbolizer);
    if (asked != SBX_EXIT_DONE) {
        status = asked;
        goto free_both;
    }
    for (size_t i = 0; i < list->index_count; i++) {
        int result = sbx_symbolizer_add_index(symbolizer, list->indexes[i]);
        if (result != 0 && result != -ENOENT) {
            sbx_failure("report", "%s: %s", list->indexes[i], strerror(-result)); /* names may be missing; go on */
        }
    }
    for (size_t i = 0; i < list->count; i++) {
        sbx_progress_show("naming the code of snapshot", i + 1, list->count);
        int result = report_one(request, &list->entries[i], symbolizer, out, &reported);
        if (result != 0) {
            status = SBX_EXIT_FAILED;
        }
        if (result == -2) {
            break;
        }
    }
    sbx_progress_clear();
    if (sbx_symbol_store_option_tell("report", store) != SBX_EXIT_DONE ||
        sbx_debuginfod_option_tell("report", symbolizer) != SBX_EXIT_DONE) {
        status = SBX_EXIT_FAILED; /* as when it cannot be opened */
    }
    if (reported.rows != NULL && reported.count > 0 && print_list(reported.rows, reported.count, out) != 0) {
        status = sbx_failure("report", "the list cannot be written");
    }

free_both:
    sbx_symbolizer_destroy(symbolizer);
    sbx_symbol_store_close(store);
    free(reported.rows);
    free(reported.ids);
    return status;
}

/* Report the list to where the request says. */
static int write_reports(struct request *request, const struct sbx_payload_list *list)
{
    int status = prepare_output(request, sbx_payload_list_distinct(list));
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    if (request->format == &formats[0] && !request->all && !request->output_is_folder) {
        request->format = &first_screen;
    }
    if (request->output_is_folder) {
        return report_all(request, list, NULL);
    }
    if (request->output == NULL) {
        return report_all(request, list, stdout);
    }
    FILE *out = fopen(request->output, "we");
    if (out == NULL) {
        return sbx_failure("report", "%s: %s", request->output, strerror(errno));
    }
    status = report_all(request, list, out);
    if (fclose(out) != 0 && status == SBX_EXIT_DONE) {
        status = sbx_failure("report", "%s: %s", request->output, strerror(errno));
    }
    return status;
}

/* Keep the entries that the ids choose. Returns SBX_EXIT_DONE, or the exit status after a message. */
static int choose(const struct request *request, struct sbx_payload_list *list)
{
    for (size_t k = 0; k < request->id_count; k++) {
        const char *chosen = NULL, *id = request->ids[k];
        for (size_t i = 0; i < list->count; i++) {
            if (strncmp(list->entries[i].id, id, strlen(id)) != 0) {
                continue;
            }
            if (chosen != NULL && strcmp(chosen, list->entries[i].id) != 0) {
                return sbx_usage_error("report", "several ids begin with %s: give more of it", id);
            }
            chosen = list->entries[i].id;
        }
        if (chosen == NULL) {
            return sbx_failure("report", "%s: neither a file nor the begin of an id here", id);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->count && request->id_count > 0; i++) {
        bool is_chosen = false;
        for (size_t k = 0; k < request->id_count; k++) {
            is_chosen = is_chosen || strncmp(list->entries[i].id, request->ids[k], strlen(request->ids[k])) == 0;
        }
        struct sbx_payload_entry entry = list->entries[i]; /* swapped, so that the list still owns all of them */
        if (is_chosen) {
            list->entries[i] = list->entries[kept];
            list->entries[kept++] = entry;
        }
    }
    for (size_t i = kept; i < list->count && request->id_count > 0; i++) {
        free(list->entries[i].path);
        free(list->entries[i].root);
    }
    list->count = request->id_count > 0 ? kept : list->count;
    return SBX_EXIT_DONE;
}

static int report_paths(struct request *request)
{
    struct sbx_payload_list list = {0};
    int status = SBX_EXIT_DONE;
    for (size_t i = 0; i < request->path_count; i++) {
        if (sbx_payload_list_add(&list, "report", request->paths[i]) != 0) {
            status = sbx_failure("report", "%s", strerror(ENOMEM));
            goto finish_list;
        }
    }
    if (sbx_payload_ends_take(&request->ends, &list, &request->unseal_keys) != 0) {
        status = sbx_failure("report", "%s", strerror(ENOMEM));
        goto finish_list;
    }
    if (list.count == 0 && request->ends.count > 0) {
        char of[33];
        for (size_t i = 0; i < 16; i++) {
            snprintf(of + 2 * i, 3, "%02x", request->ends.ends[0]->completes[i]);
        }
        status = sbx_failure("report", "it only says how stall %s ended", of);
        goto finish_list;
    }
    status = list.count > 0 ? choose(request, &list) : SBX_EXIT_DONE;
    if (list.count > 0 && status == SBX_EXIT_DONE) {
        status = write_reports(request, &list);
    }
    if (list.failures > 0 && status == SBX_EXIT_DONE) {
        status = SBX_EXIT_FAILED;
    }

finish_list:
    sbx_payload_ends_finish(&request->ends);
    sbx_payload_list_finish(&list);
    return status;
}

int sbx_command_report(int argc, char **argv)
{
    struct request request = {.format = &formats[0]};
    bool help = false;
    int status = SBX_EXIT_FAILED;
    request.paths = calloc((size_t)argc, sizeof *request.paths); /* no more of either than there are arguments */
    request.ids = calloc((size_t)argc, sizeof *request.ids);
    request.symbol_dirs = calloc((size_t)argc, sizeof *request.symbol_dirs);
    if (request.paths == NULL || request.ids == NULL || request.symbol_dirs == NULL) {
        sbx_failure("report", "%s", strerror(ENOMEM));
        goto free_request;
    }
    status = read_options(argc, argv, &request, &help);
    if (help) {
        sbx_usage_report(stdout);
    } else if (status == SBX_EXIT_DONE) {
        status = report_paths(&request);
    }

free_request:
    sbx_unseal_keys_wipe(&request.unseal_keys);
    free(request.symbol_dirs);
    free(request.ids);
    free(request.paths);
    return status;
}
