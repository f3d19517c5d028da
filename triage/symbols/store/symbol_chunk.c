/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_chunk.c - the names of 4 KiB of code, complete in itself. */
#include "symbol_chunk.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char magic[4] = {'s', 'b', 'c', '1'};

enum {
    HEADER_WORDS = 6, /* magic; number of ranges, places, functions; bytes of texts; 0 */
    RANGE_WORDS = 2,
    PLACE_WORDS = 4,
    FUNCTION_WORDS = 2,
    READABLE_BIT = 1 << 8
};

/* Translates numbers of the whole program to numbers within the chunk. */
struct renumbering {
    uint32_t *keys, *values; /* a hash table; key 0: free slot */
    size_t room, count;
};

struct words {
    uint32_t *words;
    size_t count, room;
};

struct sbx_chunk_writer {
    const struct sbx_places *places;
    struct renumbering place_numbers, function_numbers, text_numbers;
    struct words ranges, place_words, function_words, out;
    char *texts;
    size_t text_bytes, text_room;
};

struct sbx_chunk_writer *sbx_chunk_writer_create(const struct sbx_places *places)
{
    struct sbx_chunk_writer *writer = calloc(1, sizeof *writer);
    if (writer != NULL) {
        writer->places = places;
    }
    return writer;
}

void sbx_chunk_writer_destroy(struct sbx_chunk_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    struct renumbering *all[] = {&writer->place_numbers, &writer->function_numbers, &writer->text_numbers};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        free(all[i]->keys);
        free(all[i]->values);
    }
    free(writer->ranges.words);
    free(writer->place_words.words);
    free(writer->function_words.words);
    free(writer->out.words);
    free(writer->texts);
    free(writer);
}

/* ---- writing ---- */

static int add_words(struct words *words, const uint32_t *added, size_t count)
{
    if (words->count + count > words->room) {
        size_t room = 2 * (words->count + count) + 256;
        if (room > SBX_CHUNK_BYTES_MAX) {
            return -EFBIG;
        }
        uint32_t *grown = realloc(words->words, room * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        words->words = grown;
        words->room = room;
    }
    if (count > 0) {
        memcpy(words->words + words->count, added, count * sizeof *added);
    }
    words->count += count;
    return 0;
}

static void empty_numbers(struct renumbering *numbers)
{
    if (numbers->room > 0) {
        memset(numbers->keys, 0, numbers->room * sizeof *numbers->keys);
    }
    numbers->count = 0;
}

static size_t find_number(const struct renumbering *numbers, uint32_t key)
{
    size_t at = (key * UINT32_C(2654435761) >> 7) & (numbers->room - 1);
    while (numbers->keys[at] != 0 && numbers->keys[at] != key) {
        at = (at + 1) & (numbers->room - 1);
    }
    return at;
}

/* The slot for the chunk's number of `key`. *is_new_out: it has no number yet. NULL if memory runs out. */
static uint32_t *number_of(struct renumbering *numbers, uint32_t key, bool *is_new_out)
{
    if (2 * (numbers->count + 1) > numbers->room) {
        struct renumbering grown = {.room = numbers->room == 0 ? 256 : numbers->room * 2, .count = numbers->count};
        grown.keys = calloc(grown.room, sizeof *grown.keys);
        grown.values = calloc(grown.room, sizeof *grown.values);
        if (grown.keys == NULL || grown.values == NULL) {
            free(grown.keys);
            free(grown.values);
            return NULL;
        }
        for (size_t i = 0; i < numbers->room; i++) {
            if (numbers->keys[i] != 0) {
                size_t at = find_number(&grown, numbers->keys[i]);
                grown.keys[at] = numbers->keys[i];
                grown.values[at] = numbers->values[i];
            }
        }
        free(numbers->keys);
        free(numbers->values);
        *numbers = grown;
    }
    size_t at = find_number(numbers, key);
    *is_new_out = numbers->keys[at] == 0;
    if (*is_new_out) {
        numbers->keys[at] = key;
        numbers->count++;
    }
    return &numbers->values[at];
}

static int add_text(struct sbx_chunk_writer *writer, uint32_t text, uint32_t *number_out)
{
    bool is_new;
    *number_out = 0;
    if (text == 0) {
        return 0;
    }
    uint32_t *number = number_of(&writer->text_numbers, text, &is_new);
    if (number == NULL) {
        return -ENOMEM;
    }
    if (is_new) {
        const char *bytes = sbx_places_text(writer->places, text);
        size_t count = strlen(bytes) + 1;
        if (writer->text_bytes + count > writer->text_room) {
            size_t room = 2 * (writer->text_bytes + count);
            char *grown = room > SBX_CHUNK_BYTES_MAX ? NULL : realloc(writer->texts, room);
            if (grown == NULL) {
                return room > SBX_CHUNK_BYTES_MAX ? -EFBIG : -ENOMEM;
            }
            writer->texts = grown;
            writer->text_room = room;
        }
        *number = (uint32_t)writer->text_bytes;
        memcpy(writer->texts + writer->text_bytes, bytes, count);
        writer->text_bytes += count;
    }
    *number_out = *number;
    return 0;
}

static int add_function(struct sbx_chunk_writer *writer, uint32_t function, uint32_t *number_out)
{
    bool is_new;
    *number_out = 0;
    if (function == 0) {
        return 0;
    }
    uint32_t *number = number_of(&writer->function_numbers, function, &is_new);
    if (number == NULL) {
        return -ENOMEM;
    }
    int result = 0;
    if (is_new) {
        struct sbx_function found = sbx_places_function(writer->places, function);
        uint32_t words[FUNCTION_WORDS] = {0, found.source | (found.is_readable ? READABLE_BIT : 0)};
        result = add_text(writer, found.name, &words[0]);
        *number = (uint32_t)(writer->function_words.count / FUNCTION_WORDS);
        result = result == 0 ? add_words(&writer->function_words, words, FUNCTION_WORDS) : result;
    }
    *number_out = *number;
    return result;
}

/* Add the chain of a place, the outermost first, so that each place refers to an earlier one. */
static int add_place(struct sbx_chunk_writer *writer, uint32_t place, uint32_t *number_out)
{
    uint32_t chain[SBX_INLINES_MAX], into = 0;
    size_t count = 0;
    for (; place != 0 && count < SBX_INLINES_MAX; place = sbx_places_get(writer->places, place).into) {
        chain[count++] = place;
    }
    int result = 0;
    while (count > 0 && result == 0) {
        bool is_new;
        struct sbx_place at = sbx_places_get(writer->places, chain[--count]);
        uint32_t *number = number_of(&writer->place_numbers, chain[count], &is_new);
        if (number == NULL) {
            return -ENOMEM;
        }
        if (is_new) {
            uint32_t words[PLACE_WORDS] = {0, 0, at.line, into};
            *number = (uint32_t)(writer->place_words.count / PLACE_WORDS);
            result = add_function(writer, at.function, &words[0]);
            result = result == 0 ? add_text(writer, at.file, &words[1]) : result;
            result = result == 0 ? add_words(&writer->place_words, words, PLACE_WORDS) : result;
        }
        into = *number;
    }
    *number_out = into;
    return result;
}

static int add_range(struct sbx_chunk_writer *writer, uint64_t offset, uint32_t place)
{
    uint32_t words[RANGE_WORDS] = {(uint32_t)offset, 0};
    int result = add_place(writer, place, &words[1]);
    return result == 0 ? add_words(&writer->ranges, words, RANGE_WORDS) : result;
}

/* Header and arrays, one after the other. */
static int put_together(struct sbx_chunk_writer *writer)
{
    uint32_t header[HEADER_WORDS] = {0};
    header[1] = (uint32_t)(writer->ranges.count / RANGE_WORDS);
    header[2] = (uint32_t)(writer->place_words.count / PLACE_WORDS);
    header[3] = (uint32_t)(writer->function_words.count / FUNCTION_WORDS);
    header[4] = (uint32_t)writer->text_bytes;
    struct words *out = &writer->out;
    const struct words *parts[] = {&writer->ranges, &writer->place_words, &writer->function_words};
    out->count = 0;
    int result = add_words(out, header, HEADER_WORDS);
    for (size_t i = 0; i < 3 && result == 0; i++) {
        result = add_words(out, parts[i]->words, parts[i]->count);
    }
    for (size_t i = 0; i < out->count; i++) {
        out->words[i] = htole32(out->words[i]);
    }
    size_t text_words = (writer->text_bytes + 3) / 4;
    static const uint32_t none[16];
    for (size_t added = 0; added < text_words && result == 0; added += 16) {
        result = add_words(out, none, text_words - added < 16 ? text_words - added : 16);
    }
    if (result == 0) {
        memcpy(out->words, magic, sizeof magic);
        memcpy((char *)(out->words + out->count - text_words), writer->texts, writer->text_bytes);
        result = out->count * sizeof *out->words > SBX_CHUNK_BYTES_MAX ? -EFBIG : 0;
    }
    return result;
}

int sbx_chunk_writer_encode(struct sbx_chunk_writer *writer, uint64_t begin, const struct sbx_span *spans, size_t count,
                            const uint8_t **bytes_out, size_t *byte_count_out)
{
    static const uint32_t none[PLACE_WORDS];
    empty_numbers(&writer->place_numbers);
    empty_numbers(&writer->function_numbers);
    empty_numbers(&writer->text_numbers);
    writer->ranges.count = writer->place_words.count = writer->function_words.count = 0;
    writer->text_bytes = 0;
    int result = add_words(&writer->place_words, none, PLACE_WORDS);
    result = result == 0 ? add_words(&writer->function_words, none, FUNCTION_WORDS) : result;
    if (writer->text_room == 0 && result == 0) {
        writer->texts = malloc(256);
        writer->text_room = writer->texts == NULL ? 0 : 256;
        result = writer->texts == NULL ? -ENOMEM : 0;
    }
    if (result == 0) {
        writer->texts[writer->text_bytes++] = '\0';
    }
    uint64_t at = 0; /* offset after the last range */
    bool is_known = false;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (spans[i].end <= begin || (spans[i].begin > begin && spans[i].begin - begin >= SBX_CHUNK_CODE_BYTES)) {
            continue;
        }
        uint64_t from = spans[i].begin < begin ? 0 : spans[i].begin - begin;
        uint64_t to = spans[i].end - begin < SBX_CHUNK_CODE_BYTES ? spans[i].end - begin : SBX_CHUNK_CODE_BYTES;
        if (is_known && from > at) {
            result = add_range(writer, at, 0);
        }
        result = result == 0 ? add_range(writer, from, spans[i].place) : result;
        at = to;
        is_known = true;
    }
    if (result == 0 && is_known && at < SBX_CHUNK_CODE_BYTES) {
        result = add_range(writer, at, 0);
    }
    result = result == 0 ? put_together(writer) : result;
    *bytes_out = (const uint8_t *)writer->out.words;
    *byte_count_out = writer->out.count * sizeof *writer->out.words;
    return result;
}

/* ---- reading ---- */

static bool are_ranges_valid(const struct sbx_symbol_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->range_count; i++) {
        uint32_t begin = le32toh(chunk->ranges[RANGE_WORDS * i]), place = le32toh(chunk->ranges[RANGE_WORDS * i + 1]);
        if (begin >= SBX_CHUNK_CODE_BYTES || place >= chunk->place_count ||
            (i > 0 && begin <= le32toh(chunk->ranges[RANGE_WORDS * (i - 1)]))) {
            return false;
        }
    }
    return true;
}

static bool are_places_valid(const struct sbx_symbol_chunk *chunk)
{
    for (uint32_t i = 1; i < chunk->place_count; i++) {
        const uint32_t *place = chunk->places + (size_t)PLACE_WORDS * i;
        if (le32toh(place[0]) >= chunk->function_count || le32toh(place[1]) >= chunk->text_bytes ||
            le32toh(place[3]) >= i) {
            return false;
        }
    }
    for (uint32_t i = 1; i < chunk->function_count; i++) {
        const uint32_t *function = chunk->functions + (size_t)FUNCTION_WORDS * i;
        if (le32toh(function[0]) >= chunk->text_bytes || le32toh(function[1]) >= 2 * READABLE_BIT ||
            (le32toh(function[1]) & (READABLE_BIT - 1)) >= SBX_SYMBOLS_SOURCES) {
            return false;
        }
    }
    return true;
}

int sbx_symbol_chunk_open(const uint8_t *bytes, size_t count, struct sbx_symbol_chunk *chunk_out)
{
    uint32_t header[HEADER_WORDS];
    struct sbx_symbol_chunk chunk = {0};
    if (count < sizeof header || count > SBX_CHUNK_BYTES_MAX || count % 4 != 0 || (uintptr_t)bytes % 4 != 0 ||
        memcmp(bytes, magic, sizeof magic) != 0) {
        return -EBADMSG;
    }
    memcpy(header, bytes, sizeof header);
    chunk.range_count = le32toh(header[1]);
    chunk.place_count = le32toh(header[2]);
    chunk.function_count = le32toh(header[3]);
    chunk.text_bytes = le32toh(header[4]);
    uint64_t words = HEADER_WORDS + (uint64_t)RANGE_WORDS * chunk.range_count +
                     (uint64_t)PLACE_WORDS * chunk.place_count + (uint64_t)FUNCTION_WORDS * chunk.function_count +
                     ((uint64_t)chunk.text_bytes + 3) / 4;
    if (words * 4 != count || chunk.place_count == 0 || chunk.function_count == 0 || chunk.text_bytes == 0) {
        return -EBADMSG;
    }
    chunk.ranges = (const uint32_t *)(const void *)bytes + HEADER_WORDS;
    chunk.places = chunk.ranges + (size_t)RANGE_WORDS * chunk.range_count;
    chunk.functions = chunk.places + (size_t)PLACE_WORDS * chunk.place_count;
    chunk.texts = (const char *)(chunk.functions + (size_t)FUNCTION_WORDS * chunk.function_count);
    if (chunk.texts[0] != '\0' || chunk.texts[chunk.text_bytes - 1] != '\0' || !are_ranges_valid(&chunk) ||
        !are_places_valid(&chunk)) {
        return -EBADMSG;
    }
    *chunk_out = chunk;
    return 0;
}

size_t sbx_symbol_chunk_find(const struct sbx_symbol_chunk *chunk, uint32_t offset, struct sbx_code_frame *frames_out,
                             size_t max)
{
    uint32_t low = 0, high = chunk->range_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (le32toh(chunk->ranges[RANGE_WORDS * middle]) <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint32_t place = low == 0 ? 0 : le32toh(chunk->ranges[RANGE_WORDS * (low - 1) + 1]);
    size_t count = 0;
    while (place != 0 && count < max && count < SBX_INLINES_MAX) {
        const uint32_t *at = chunk->places + (size_t)PLACE_WORDS * place;
        uint32_t function = le32toh(at[0]), file = le32toh(at[1]), into = le32toh(at[3]);
        const uint32_t *found = chunk->functions + (size_t)FUNCTION_WORDS * function;
        frames_out[count++] = (struct sbx_code_frame){
            .name = function == 0 ? "" : chunk->texts + le32toh(found[0]),
            .file = file == 0 ? NULL : chunk->texts + file,
            .line = le32toh(at[2]),
            .source = function == 0 ? SBX_SYMBOLS_NONE : (uint8_t)(le32toh(found[1]) & (READABLE_BIT - 1)),
            .is_readable = function != 0 && (le32toh(found[1]) & READABLE_BIT) != 0,
            .inlined = into != 0};
        place = into;
    }
    return count;
}
