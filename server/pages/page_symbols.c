/* SPDX-License-Identifier: Apache-2.0 */
/* page_symbols.c - which symbols to upload next, and which are stored. */
#include "pages.h"

#include <string.h>

#include "page_parts.h"
#include "symbols.html.h"

static const char *name_or(const char *name, const char *otherwise)
{
    return *name ? name : otherwise;
}

/* ---- missing ---- */

static void put_code(struct sbx_byte_buffer *page, const struct sbx_missing_row *row)
{
    SBX_FILL(page, symbols_code, at) {
    case SYMBOLS_CODE_NAME:
        sbx_fill_text(&at, name_or(row->name, "a module"));
        break;
    case SYMBOLS_CODE_BUILD_ID:
        sbx_fill_text(&at, row->build_id);
        break;
    }
}

static void put_runtime(struct sbx_byte_buffer *page, const struct sbx_missing_row *row)
{
    SBX_FILL(page, symbols_runtime, at) {
    case SYMBOLS_RUNTIME_NAME:
        sbx_fill_text(&at, name_or(row->name, "an embedded runtime"));
        break;
    case SYMBOLS_RUNTIME_NUMBER:
        sbx_fill_text(&at, row->build_id);
        break;
    }
}

/* The name of the file in a command. People copy it from here, so a placeholder stands for a name that has anything but
 * plain letters. */
static void put_file(struct sbx_fill *at, const struct sbx_missing_row *row)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_+";
    bool is_plain = *row->name && row->name[0] != '-' && strspn(row->name, letters) == strlen(row->name);
    if (row->is_runtime)
        sbx_fill_textf(at, "provider-%s.map", is_plain ? row->name : "NAME");
    else
        sbx_fill_text(at, is_plain ? row->name : "FILE");
}

static void put_wanted(struct sbx_byte_buffer *page, const struct sbx_symbols_page *symbols,
                       const struct sbx_missing_row *row)
{
    SBX_FILL(page, symbols_wanted, at) {
    case SYMBOLS_WANTED_ADDRESS:
        sbx_fill_text(&at, symbols->address);
        break;
    case SYMBOLS_WANTED_FILE:
        put_file(&at, row);
        break;
    }
}

static void put_missing_row(struct sbx_byte_buffer *page, const struct sbx_symbols_page *symbols,
                            const struct sbx_missing_row *row)
{
    SBX_FILL(page, symbols_row, at) {
    case SYMBOLS_ROW_ID:
        sbx_fill_text(&at, row->build_id);
        break;
    case SYMBOLS_ROW_STALLS:
        sbx_fill_textf(&at, "%lld", (long long)row->stalls);
        break;
    case SYMBOLS_ROW_FRAMES:
        sbx_fill_textf(&at, "%lld", (long long)row->frames);
        break;
    case SYMBOLS_ROW_CODE:
        if (!row->is_runtime)
            put_code(page, row);
        break;
    case SYMBOLS_ROW_RUNTIME:
        if (row->is_runtime)
            put_runtime(page, row);
        break;
    case SYMBOLS_ROW_CAME:
        if (row->is_renamed)
            sbx_fill_markup(page, &symbols_came_markup);
        break;
    case SYMBOLS_ROW_WANTED:
        if (!row->is_renamed)
            put_wanted(page, symbols, row);
        break;
    case SYMBOLS_ROW_LAST:
        sbx_page_time(page, row->last_ms, symbols->now_ms);
        break;
    }
}

static void put_missing(struct sbx_byte_buffer *page, const struct sbx_symbols_page *symbols)
{
    SBX_FILL(page, symbols_missing, at) {
    case SYMBOLS_MISSING_ROW:
        for (size_t i = 0; i < symbols->missing_count; i++)
            put_missing_row(page, symbols, &symbols->missing[i]);
        break;
    }
}

/* ---- stored ---- */

static void put_image(struct sbx_byte_buffer *page, const struct sbx_stored_row *row, int64_t now_ms)
{
    SBX_FILL(page, symbols_image, at) {
    case SYMBOLS_IMAGE_NAME:
        sbx_fill_text(&at, row->name);
        break;
    case SYMBOLS_IMAGE_BUILD_ID:
        sbx_fill_text(&at, row->build_id);
        break;
    case SYMBOLS_IMAGE_SOURCE:
        sbx_fill_text(&at, row->is_damaged ? "damaged: send it again" : row->source);
        break;
    case SYMBOLS_IMAGE_FUNCTIONS:
        sbx_fill_textf(&at, "%llu", (unsigned long long)row->functions);
        break;
    case SYMBOLS_IMAGE_SIZE:
        if (row->stored_bytes < 1000000)
            sbx_fill_textf(&at, "%llu kB", (unsigned long long)(row->stored_bytes + 999) / 1000);
        else
            sbx_fill_textf(&at, "%.1f MB", (double)row->stored_bytes / 1e6);
        break;
    case SYMBOLS_IMAGE_ADDED:
        sbx_page_time(page, row->added_ms, now_ms);
        break;
    case SYMBOLS_IMAGE_USED:
        sbx_page_time(page, row->used_ms, now_ms);
        break;
    }
}

static void put_further(struct sbx_byte_buffer *page, const struct sbx_symbols_page *symbols)
{
    SBX_FILL(page, symbols_further, at) {
    case SYMBOLS_FURTHER_NUMBER:
        sbx_fill_textf(&at, "%zu", symbols->stored_count - symbols->stored_shown);
        break;
    }
}

static void put_stored(struct sbx_byte_buffer *page, const struct sbx_symbols_page *symbols)
{
    SBX_FILL(page, symbols_stored, at) {
    case SYMBOLS_STORED_IMAGE:
        for (size_t i = 0; i < symbols->stored_shown; i++)
            put_image(page, &symbols->stored[i], symbols->now_ms);
        break;
    case SYMBOLS_STORED_FURTHER:
        if (symbols->stored_shown < symbols->stored_count)
            put_further(page, symbols);
        break;
    }
}

void sbx_page_symbols(const struct sbx_symbols_page *symbols, struct sbx_byte_buffer *page)
{
    struct sbx_fill frame = sbx_page_begin(page, "Symbols - Stallbox", 0);
    SBX_FILL(page, symbols, at) {
    case SYMBOLS_COUNT:
        sbx_fill_textf(&at, "%zu", symbols->missing_count);
        break;
    case SYMBOLS_NOTHING_MISSING:
        if (symbols->missing_count == 0)
            sbx_fill_markup(page, &symbols_nothing_missing_markup);
        break;
    case SYMBOLS_MISSING:
        if (symbols->missing_count > 0)
            put_missing(page, symbols);
        break;
    case SYMBOLS_STORED_COUNT:
        sbx_fill_textf(&at, "%zu", symbols->stored_count);
        break;
    case SYMBOLS_NOTHING_STORED:
        if (symbols->stored_count == 0)
            sbx_fill_markup(page, &symbols_nothing_stored_markup);
        break;
    case SYMBOLS_STORED:
        if (symbols->stored_count > 0)
            put_stored(page, symbols);
        break;
    }
    sbx_page_end(&frame);
}
