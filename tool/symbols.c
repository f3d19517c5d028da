/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c - `stallbox symbols lookup`: names for code addresses, one JSON object a line, for scripts. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_id.h"
#include "command.h"
#include "json_writer.h"
#include "options.h"
#include "symbol_file.h"
#include "symbolizer.h"

enum {
    FRAMES_MAX = 64
}; /* functions inlined into one another at one address; more than any compiler was seen to make */

enum {
    OPTION_SYMBOLS,
    OPTION_MODULES,
    OPTION_COUNT
};
static const struct sbx_option options[OPTION_COUNT] = {
    [OPTION_SYMBOLS] = {"--symbols", 's', "DIR", "also look for ELF and debug files here; may be repeated"},
    [OPTION_MODULES] = {"--modules", 'm', "FILE",
                        "a spool's list of where modules lie (SPOOL/modules);\nmay be repeated"},
};

struct lookup {
    const char **symbol_dirs, **index_paths; /* borrowed from argv */
    size_t symbol_dir_count, index_path_count;
    const char *build_id_text;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    size_t build_id_bytes;
    uint64_t *offsets;
    size_t offset_count;
};

void sbx_usage_symbols(FILE *out)
{
    fputs(
        "usage: stallbox symbols lookup [OPTION]... BUILD-ID OFFSET...\n"
        "\n"
        "Print one JSON object a line for each OFFSET, a file-relative virtual address in hex, as addr2line takes it:\n"
        "{\"offset\",\"frames\":[{\"function\",\"file\",\"line\",\"inlined\"}],\"source\":\"dwarf|symtab|dynsym|none\"}"
        ", leaf first.\n"
        "The file with that build-id is looked for in the usual places of this machine too.\n"
        "\n",
        out);
    sbx_options_print(options, OPTION_COUNT, out);
}

/* ---- the command line ---- */

static int read_operand(struct lookup *lookup, const char *text, bool *has_verb)
{
    if (!*has_verb) {
        *has_verb = true;
        return strcmp(text, "lookup") == 0 ? SBX_EXIT_DONE
                                           : sbx_usage_error("symbols", "unknown verb '%s'; there is lookup", text);
    }
    if (lookup->build_id_text == NULL) {
        lookup->build_id_text = text;
        lookup->build_id_bytes = sbx_build_id_parse(text, strlen(text), lookup->build_id);
        return lookup->build_id_bytes > 0 ? SBX_EXIT_DONE : sbx_usage_error("symbols", "'%s' is no build-id", text);
    }
    const char *digits = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 2 : text;
    char *end = NULL;
    errno = 0;
    uint64_t offset = strtoull(digits, &end, 16);
    /* strtoull() would also take a sign, space, or another 0x. */
    if (strspn(digits, "0123456789abcdefABCDEF") != strlen(digits) || *digits == '\0' || errno != 0) {
        return sbx_usage_error("symbols", "'%s' is no offset: hex digits are wanted", text);
    }
    lookup->offsets[lookup->offset_count++] = offset;
    return SBX_EXIT_DONE;
}

/* Returns SBX_EXIT_DONE to go on, or the status to exit with; *help_out says that only help was wanted. */
static int read_options(int argc, char **argv, struct lookup *lookup, bool *help_out)
{
    bool has_verb = false;
    struct sbx_option_reader reader;
    sbx_option_reader_init(&reader, "symbols", options, OPTION_COUNT, argc, argv);
    for (;;) {
        int status = SBX_EXIT_DONE;
        switch (sbx_option_next(&reader)) {
        case OPTION_SYMBOLS:
            lookup->symbol_dirs[lookup->symbol_dir_count++] = reader.value;
            break;
        case OPTION_MODULES:
            lookup->index_paths[lookup->index_path_count++] = reader.value;
            break;
        case SBX_OPTION_OPERAND:
            status = read_operand(lookup, reader.value, &has_verb);
            break;
        case SBX_OPTION_HELP:
            *help_out = true;
            return SBX_EXIT_DONE;
        case SBX_OPTION_END:
            return lookup->offset_count > 0 ? SBX_EXIT_DONE
                                            : sbx_usage_error("symbols", "it wants: symbols lookup BUILD-ID OFFSET...");
        default:
            return SBX_EXIT_USAGE;
        }
        if (status != SBX_EXIT_DONE) {
            return status;
        }
    }
}

/* ---- the answer ---- */

static void print_frame(struct sbx_json *json, const struct sbx_symbol_frame *frame)
{
    sbx_json_begin_object(json);
    sbx_json_key(json, "function");
    sbx_json_text(json, frame->function[0] == '\0' ? NULL : frame->function);
    sbx_json_key(json, "file");
    sbx_json_text(json, frame->file);
    sbx_json_key(json, "line");
    if (frame->line > 0) {
        sbx_json_unsigned(json, frame->line);
    } else {
        sbx_json_null(json);
    }
    sbx_json_key(json, "inlined");
    sbx_json_bool(json, frame->inlined);
    sbx_json_end_object(json);
}

/* `file` is NULL when there is none with that build-id. */
static void print_offset(uint64_t offset, struct sbx_symbol_file *file, struct sbx_symbol_frame *frames)
{
    enum sbx_symbol_source source = SBX_SYMBOLS_NONE;
    size_t count = file == NULL ? 0 : sbx_symbol_file_find(file, offset, frames, FRAMES_MAX, &source);
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, offset);
    struct sbx_json json;
    sbx_json_init(&json, stdout);
    sbx_json_begin_object(&json);
    sbx_json_key(&json, "offset");
    sbx_json_text(&json, text);
    sbx_json_key(&json, "frames");
    sbx_json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        print_frame(&json, &frames[i]);
    }
    sbx_json_end_array(&json);
    sbx_json_key(&json, "source");
    sbx_json_text(&json, sbx_symbol_source_name(source));
    sbx_json_end_object(&json);
    putchar('\n');
}

static int look_up(const struct lookup *lookup)
{
    int status = SBX_EXIT_DONE;
    struct sbx_symbol_frame *frames = calloc(FRAMES_MAX, sizeof *frames);
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(lookup->symbol_dirs, lookup->symbol_dir_count);
    if (frames == NULL || symbolizer == NULL) {
        status = sbx_failure("symbols", "%s", strerror(ENOMEM));
        goto free_both;
    }
    for (size_t i = 0; i < lookup->index_path_count; i++) {
        int result = sbx_symbolizer_add_index(symbolizer, lookup->index_paths[i]);
        if (result != 0) {
            status = sbx_failure("symbols", "%s: %s", lookup->index_paths[i], strerror(-result));
            goto free_both;
        }
    }
    struct sbx_symbol_file *file =
        sbx_symbolizer_file(symbolizer, lookup->build_id, lookup->build_id_bytes, NULL, NULL);
    if (file == NULL) {
        status = sbx_failure("symbols", "%s: no file with this build-id was found", lookup->build_id_text);
    }
    for (size_t i = 0; i < lookup->offset_count; i++) {
        print_offset(lookup->offsets[i], file, frames); /* without a file too: a script counts on a line an offset */
    }

free_both:
    sbx_symbolizer_destroy(symbolizer);
    free(frames);
    return status;
}

int sbx_command_symbols(int argc, char **argv)
{
    struct lookup lookup = {0};
    bool help = false;
    int status = SBX_EXIT_FAILED;
    lookup.symbol_dirs =
        calloc((size_t)argc, sizeof *lookup.symbol_dirs); /* no more of each than there are arguments */
    lookup.index_paths = calloc((size_t)argc, sizeof *lookup.index_paths);
    lookup.offsets = calloc((size_t)argc, sizeof *lookup.offsets);
    if (lookup.symbol_dirs == NULL || lookup.index_paths == NULL || lookup.offsets == NULL) {
        sbx_failure("symbols", "%s", strerror(ENOMEM));
        goto free_lookup;
    }
    status = read_options(argc, argv, &lookup, &help);
    if (help) {
        sbx_usage_symbols(stdout);
    } else if (status == SBX_EXIT_DONE) {
        status = look_up(&lookup);
    }

free_lookup:
    free(lookup.offsets);
    free(lookup.index_paths);
    free(lookup.symbol_dirs);
    return status;
}
