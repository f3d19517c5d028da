/* SPDX-License-Identifier: Apache-2.0 */
/* name_list.c - lines of a map of names. */
#include "name_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sbx_name_list_finish(struct sbx_name_list *list)
{
    free(list->text);
    *list = (struct sbx_name_list){0};
}

size_t sbx_name_cut(struct sbx_name_text text, size_t max)
{
    if (text.bytes <= max) {
        return text.bytes;
    }
    while (max > 0 && ((uint8_t)text.at[max] & 0xc0) == 0x80) {
        max--;
    }
    return max;
}

static bool make_room(struct sbx_name_list *list, size_t bytes)
{
    if (list->bytes + bytes > SBX_NAME_LIST_BYTES_MAX) {
        return false;
    }
    if (list->room - list->bytes >= bytes) {
        return true;
    }
    size_t room = list->room == 0 ? 65536 : list->room * 2;
    while (room - list->bytes < bytes) {
        room *= 2;
    }
    char *grown = realloc(list->text, room);
    if (grown == NULL) {
        return false;
    }
    list->text = grown;
    list->room = room;
    return true;
}

static void put(struct sbx_name_list *list, struct sbx_name_text text, size_t max)
{
    size_t bytes = sbx_name_cut(text, max);
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text.at[i];
        list->text[list->bytes++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
}

void sbx_name_list_add(struct sbx_name_list *list, uint64_t id, uint32_t line, struct sbx_name_text file,
                       struct sbx_name_text function, struct sbx_name_text lines)
{
    enum {
        LINE_BYTES = 16 + 1 + 10 + 1 + SBX_NAME_FILE_BYTES + 1 + SBX_NAME_FUNCTION_BYTES + 1 + 1 + 1,
        LINES_BYTES_MAX = 2048 /* for the last column; readers take lines of at most 4,096 bytes */
    };
    if (id == 0 || function.bytes == 0) {
        return;
    }
    if (lines.bytes > LINES_BYTES_MAX) {
        lines.bytes = 0;
    }
    if (list->lines == SBX_NAME_LIST_LINES_MAX || !make_room(list, LINE_BYTES + lines.bytes)) {
        list->is_full = true;
        return;
    }
    list->bytes +=
        (size_t)snprintf(list->text + list->bytes, list->room - list->bytes, "%016" PRIx64 "\t%" PRIu32 "\t", id, line);
    put(list, file, SBX_NAME_FILE_BYTES);
    list->text[list->bytes++] = '\t';
    put(list, function, SBX_NAME_FUNCTION_BYTES);
    if (lines.bytes != 0) {
        list->text[list->bytes++] = '\t';
        put(list, lines, lines.bytes);
    }
    list->text[list->bytes++] = '\n';
    list->lines++;
}

uint64_t sbx_name_hash(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t sbx_name_id(struct sbx_name_text file, uint32_t number, struct sbx_name_text text)
{
    char digits[16];
    int count = snprintf(digits, sizeof digits, ":%" PRIu32 ":", number);
    uint64_t hash = sbx_name_hash(SBX_NAME_HASH_BEGIN, file.at, file.bytes);
    hash = sbx_name_hash(hash, digits, (size_t)count);
    hash = sbx_name_hash(hash, text.at, text.bytes);
    return hash != 0 ? hash : 1;
}
