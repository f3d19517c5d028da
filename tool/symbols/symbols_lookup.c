/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_lookup.c - `stallbox symbols lookup`: names for code addresses, one JSON object a line, for scripts. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_id.h"
#include "debuginfod_option.h"
#include "json_writer.h"
#include "options.h"
#include "symbol_file.h"
#include "symbol_store_option.h"
#include "symbolizer.h"
#include "symbols_verbs.h"

enum {
    FRAMES_MAX = 64
}; /* functions inlined into one another at one address; more than any compiler was seen to make */

struct lookup {
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    size_t build_id_bytes;
    uint64_t *offsets;
    size_t offset_count;
};

/* ---- the question ---- */

static int read_offset(const char *text, uint64_t *offset_out)
{
    const char *digits = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? text + 2 : text;
    char *end = NULL;
    errno = 0;
    *offset_out = strtoull(digits, &end, 16);
    /* strtoull() would also take a sign, space, or another 0x. */
    if (strspn(digits, "0123456789abcdefABCDEF") != strlen(digits) || *digits == '\0' || errno != 0) {
        return sbx_usage_error("symbols", "'%s' is no offset: hex digits are wanted", text);
    }
    return SBX_EXIT_DONE;
}

static int read_operands(const struct sbx_symbols_request *request, struct lookup *lookup)
{
    const char *build_id = request->operands[0];
    lookup->build_id_bytes = sbx_build_id_parse(build_id, strlen(build_id), lookup->build_id);
    if (lookup->build_id_bytes == 0) {
        return sbx_usage_error("symbols", "'%s' is no build-id", build_id);
    }
    int status = SBX_EXIT_DONE;
    for (size_t i = 1; i < request->operand_count && status == SBX_EXIT_DONE; i++) {
        status = read_offset(request->operands[i], &lookup->offsets[lookup->offset_count++]);
    }
    return status;
}

/* ---- the answer ---- */

static void print_frame(struct sbx_json *json, const struct sbx_symbol_frame *frame)
{
    sbx_json_begin_object(json);
    sbx_json_put_text(json, "function", frame->function[0] == '\0' ? NULL : frame->function);
    sbx_json_put_text(json, "file", frame->file);
    sbx_json_put_line(json, frame->line);
    sbx_json_put_bool(json, "inlined", frame->inlined);
    sbx_json_end_object(json);
}

/* `file`: NULL when there is none with that build-id. */
static void print_offset(uint64_t offset, struct sbx_symbol_file *file, struct sbx_symbol_frame *frames)
{
    enum sbx_symbol_source source = SBX_SYMBOLS_NONE;
    size_t count = file == NULL ? 0 : sbx_symbol_file_find(file, offset, frames, FRAMES_MAX, &source);
    char text[32];
    snprintf(text, sizeof text, "0x%" PRIx64, offset);
    struct sbx_json json;
    sbx_json_init(&json, stdout);
    sbx_json_begin_object(&json);
    sbx_json_put_text(&json, "offset", text);
    sbx_json_key(&json, "frames");
    sbx_json_begin_array(&json);
    for (size_t i = 0; i < count; i++) {
        print_frame(&json, &frames[i]);
    }
    sbx_json_end_array(&json);
    sbx_json_put_text(&json, "source", sbx_symbol_source_name(source));
    sbx_json_end_object(&json);
    putchar('\n');
}

static int look_up(const struct sbx_symbols_request *request, const struct lookup *lookup,
                   struct sbx_symbol_store *store)
{
    int status = SBX_EXIT_DONE;
    struct sbx_symbol_frame *frames = calloc(FRAMES_MAX, sizeof *frames);
    struct sbx_symbolizer *symbolizer = sbx_symbolizer_create(request->symbol_dirs, request->symbol_dir_count);
    if (frames == NULL || symbolizer == NULL) {
        status = sbx_failure("symbols", "%s", strerror(ENOMEM));
        goto free_both;
    }
    sbx_symbolizer_use_store(symbolizer, store);
    static struct sbx_debuginfod_option debuginfod;
    status = sbx_debuginfod_option_use("symbols", request->debuginfod, &debuginfod, symbolizer);
    if (status != SBX_EXIT_DONE) {
        goto free_both;
    }
    for (size_t i = 0; i < request->index_path_count; i++) {
        int result = sbx_symbolizer_add_index(symbolizer, request->index_paths[i]);
        if (result != 0) {
            status = sbx_failure("symbols", "%s: %s", request->index_paths[i], strerror(-result));
            goto free_both;
        }
    }
    struct sbx_symbol_file *file = sbx_symbolizer_file_for(symbolizer, lookup->build_id, lookup->build_id_bytes, NULL,
                                                           lookup->offsets, lookup->offset_count, NULL);
    if (file == NULL) {
        status = sbx_failure("symbols", "%s: no file with this build-id was found", request->operands[0]);
    }
    for (size_t i = 0; i < lookup->offset_count; i++) {
        /* also without a file, because a script expects one line per offset */
        print_offset(lookup->offsets[i], file, frames);
    }
    int told = sbx_debuginfod_option_tell("symbols", symbolizer);
    status = status == SBX_EXIT_DONE ? told : status;

free_both:
    sbx_symbolizer_destroy(symbolizer);
    free(frames);
    return status;
}

int sbx_symbols_lookup(const struct sbx_symbols_request *request)
{
    struct lookup lookup = {.offsets = calloc(request->operand_count, sizeof *lookup.offsets)};
    struct sbx_symbol_store *store = NULL;
    if (lookup.offsets == NULL) {
        return sbx_failure("symbols", "%s", strerror(ENOMEM));
    }
    int status = read_operands(request, &lookup);
    if (status == SBX_EXIT_DONE) {
        bool may_create = request->store != NULL && request->debuginfod != NULL; /* for what is fetched */
        status = sbx_symbol_store_option_open("symbols", request->store, request->tenant, may_create, &store);
    }
    if (status == SBX_EXIT_DONE) {
        status = look_up(request, &lookup, store);
        int told = sbx_symbol_store_option_tell("symbols", store); /* the files of this machine were still used */
        status = status == SBX_EXIT_DONE ? told : status;
    }
    sbx_symbol_store_close(store);
    free(lookup.offsets);
    return status;
}
