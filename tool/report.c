/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - `stallbox report`: what stalled and why, from files, without a server. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attribute.h"
#include "command.h"
#include "options.h"
#include "payload_list.h"
#include "report.h"
#include "stall.h"
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

static const struct format formats[] = {
    {"text", ".txt", print_plain_text, false},           {"json", ".json", sbx_print_json, false},
    {"perfetto", ".perfetto", sbx_print_perfetto, true}, {"folded", ".folded", sbx_print_folded, false},
    {"pprof", ".pprof", sbx_print_pprof, true},
};
enum {
    FORMAT_COUNT = sizeof formats / sizeof formats[0]
};

enum {
    OPTION_FORMAT,
    OPTION_SYMBOLS,
    OPTION_OUTPUT,
    OPTION_UNSEAL_KEY,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_FORMAT] = {"--format", 'f', "FORMAT",
                       "text (default), json (one object a line), perfetto,\nfolded (for flame graphs) or pprof"},
    [OPTION_SYMBOLS] = {"--symbols", 's', "DIR", "also look for ELF and debug files here; may be repeated"},
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
    const char *output; /* NULL: standard output */
    bool output_is_folder;
    const char **paths; /* path_count; borrowed from argv */
    size_t path_count;
    struct sbx_unseal_keys unseal_keys;
};

void sbx_usage_report(FILE *out)
{
    fputs(
        "usage: stallbox report [OPTION]... PATH...\n"
        "\n"
        "Say what stalled and why. A PATH is a spool folder, a payload (*.sbx) or a raw snapshot (*.raw). Of a spool,\n"
        "what waits, what is not encoded yet and what was sent lately is reported, each once, oldest first.\n"
        "\n",
        out);
    sbx_options_print(options, OPTION_COUNT, out);
    fputs("\n"
          "perfetto and pprof hold one snapshot a file: for several, name a folder with -o (it is made when missing).\n"
          "Code is named from the files the spool remembers (SPOOL/modules), from --symbols, and from the usual places "
          "of\n"
          "this machine; a file counts only if its build-id is the recorded one.\n"
          "\n"
          "A PATH that cannot be read is named on standard error; the others are reported all the same, and the exit\n"
          "status is 1.\n",
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
    sbx_usage_error("report", "unknown format '%s'; it is text, json, perfetto, folded or pprof", name);
    return false;
}

/* Returns SBX_EXIT_DONE to go on, or the status to exit with; *help_out says that only help was wanted. */
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
        case SBX_OPTION_OPERAND:
            request->paths[request->path_count++] = reader.value;
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

/* Decide where `count` reports go. Returns SBX_EXIT_DONE, or the status to exit with after a message. */
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

/* The payloads that were reported, so that each is reported once. */
struct reported {
    char (*ids)[33]; /* room for one an entry */
    size_t count;
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

/* Report one entry, unless that was done. Returns 0, or -1 after a message when it cannot be read, or -2 when the output
 * fails: then there is no use in going on. */
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
    if (reported->count > 0 && out != NULL && request->format->print == print_plain_text) {
        fputc('\n', out);
    }
    memcpy(reported->ids[reported->count++], stall->payload_id_text, sizeof *reported->ids);
    result = print_one(request, report, out);
    if (result != 0 && !request->output_is_folder) {
        sbx_failure("report", "%s: %s", request->output == NULL ? "standard output" : request->output,
                    strerror(-result));
    }
    sbx_report_destroy(report);
    sbx_stall_destroy(stall);
    return result == 0 ? 0 : -2;
}

static int report_all(const struct request *request, const struct sbx_payload_list *list, FILE *out)
{
    int status = SBX_EXIT_DONE;
    struct reported reported = {.ids = calloc(list->count, sizeof *reported.ids)};
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(request->symbol_dirs, request->symbol_dir_count);
    if (symbolizer == NULL || reported.ids == NULL) {
        status = sbx_failure("report", "%s", strerror(ENOMEM));
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

free_both:
    sbx_symbolizer_destroy(symbolizer);
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
    if (list.count > 0) {
        status = write_reports(request, &list);
    }
    if (list.failures > 0 && status == SBX_EXIT_DONE) {
        status = SBX_EXIT_FAILED;
    }

finish_list:
    sbx_payload_list_finish(&list);
    return status;
}

int sbx_command_report(int argc, char **argv)
{
    struct request request = {.format = &formats[0]};
    bool help = false;
    int status = SBX_EXIT_FAILED;
    request.paths = calloc((size_t)argc, sizeof *request.paths); /* no more of either than there are arguments */
    request.symbol_dirs = calloc((size_t)argc, sizeof *request.symbol_dirs);
    if (request.paths == NULL || request.symbol_dirs == NULL) {
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
    free(request.paths);
    return status;
}
