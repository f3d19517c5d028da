/* SPDX-License-Identifier: Apache-2.0 */
/* symbols_list.c - `stallbox symbols list` and `remove`: what the store has. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "build_id.h"
#include "json_writer.h"
#include "options.h"
#include "symbol_store_option.h"
#include "symbols_verbs.h"

/* A name may have any bytes; none may control the terminal. */
static void put_clean(const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        putchar(c < 0x20 || c == 0x7f || c >= 0x80 ? '?' : c);
    }
}

static const char *day_of(uint64_t seconds, char out[16])
{
    time_t time = (time_t)seconds;
    struct tm day;
    if (seconds == 0 || localtime_r(&time, &day) == NULL || strftime(out, 16, "%Y-%m-%d", &day) == 0) {
        return "-";
    }
    return out;
}

static const char *size_of(uint64_t bytes, char text[16])
{
    if (bytes < 1000000) {
        snprintf(text, 16, "%u kB", (unsigned)(bytes + 999) / 1000);
    } else {
        snprintf(text, 16, "%.1f MB", (double)bytes / 1e6);
    }
    return text;
}

static void print_text(const struct sbx_store_entry *entry)
{
    char added[16], used[16], stored[16], code[16];
    if (entry->is_damaged) {
        printf("%-40s  damaged; add it again\n", entry->build_id);
        return;
    }
    printf("%-40s  %-5s  %-6s  %s  %s  %8" PRIu64 "  %9s of %s  ", entry->build_id,
           sbx_image_kind_name(entry->facts.kind), sbx_symbol_source_name(entry->facts.best),
           day_of(entry->facts.made_s, added), day_of(entry->used_s, used), entry->facts.function_count,
           size_of(entry->file_bytes, stored), size_of(entry->facts.code_bytes, code));
    put_clean(entry->facts.name[0] == '\0' ? "-" : entry->facts.name);
    putchar('\n');
}

static void print_json(const struct sbx_store_entry *entry)
{
    struct sbx_json json;
    sbx_json_init(&json, stdout);
    sbx_json_begin_object(&json);
    sbx_json_put_text(&json, "build_id", entry->build_id);
    sbx_json_put_bool(&json, "damaged", entry->is_damaged);
    sbx_json_put_text(&json, "name", entry->facts.name[0] == '\0' ? NULL : entry->facts.name);
    sbx_json_put_text(&json, "source", sbx_symbol_source_name(entry->facts.best));
    sbx_json_put_text(&json, "kind", entry->is_damaged ? NULL : sbx_image_kind_name(entry->facts.kind));
    sbx_json_put_unsigned(&json, "added_s", entry->facts.made_s);
    sbx_json_put_unsigned(&json, "used_s", entry->used_s);
    sbx_json_put_unsigned(&json, "functions", entry->facts.function_count);
    sbx_json_put_unsigned(&json, "code_bytes", entry->facts.code_bytes);
    sbx_json_put_unsigned(&json, "stored_bytes", entry->file_bytes);
    sbx_json_end_object(&json);
    putchar('\n');
}

int sbx_symbols_list(const struct sbx_symbols_request *request)
{
    struct sbx_symbol_store *store;
    struct sbx_store_entry *entries = NULL;
    size_t count = 0;
    int status = sbx_symbol_store_option_open("symbols", request->store, request->tenant, false, &store);
    if (status != SBX_EXIT_DONE || store == NULL) {
        return status;
    }
    (void)sbx_symbol_store_sweep(store, (uint64_t)time(NULL)); /* a store that may only be read is listed as it is */
    int result = sbx_symbol_store_list(store, &entries, &count);
    if (result != 0) {
        status = sbx_symbol_store_option_failed("symbols", store, "the store cannot be read", result);
    }
    if (count > 0 && !request->json) {
        printf("%-40s  %-5s  %-6s  %-10s  %-10s  %9s %s\n", "build-id", "kind", "source", "added", "used", "functions",
               " stored, of how much code; name");
    }
    for (size_t i = 0; i < count; i++) {
        (request->json ? print_json : print_text)(&entries[i]);
    }
    if (fflush(stdout) != 0) {
        status = sbx_failure("symbols", "the list cannot be written");
    }
    free(entries);
    sbx_symbol_store_close(store);
    return status;
}

int sbx_symbols_remove(const struct sbx_symbols_request *request)
{
    struct sbx_symbol_store *store = NULL;
    uint8_t build_id[SBX_BUILD_ID_BYTES_MAX];
    for (size_t i = 0; i < request->operand_count; i++) { /* before anything is removed */
        if (sbx_build_id_parse(request->operands[i], strlen(request->operands[i]), build_id) == 0) {
            return sbx_usage_error("symbols", "'%s' is no build-id", request->operands[i]);
        }
    }
    int status = sbx_symbol_store_option_open("symbols", request->store, request->tenant, false, &store);
    if (status != SBX_EXIT_DONE) {
        return status;
    }
    for (size_t i = 0; i < request->operand_count; i++) {
        const char *text = request->operands[i];
        size_t bytes = sbx_build_id_parse(text, strlen(text), build_id);
        int result = store == NULL ? -ENOENT : sbx_symbol_store_remove(store, build_id, bytes);
        if (result == 0) {
            printf("removed %s\n", text);
        } else {
            status = result == -ENOENT ? sbx_failure("symbols", "%s: there are no symbols of this build-id", text)
                                       : sbx_symbol_store_option_failed("symbols", store, text, result);
        }
    }
    sbx_symbol_store_close(store);
    return status;
}
