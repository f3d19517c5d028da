/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_places.c - places in source code: texts, functions, and places that share equal parts. */
#include "symbol_places.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_BYTES_MAX = 1 << 30,
    ENTRIES_MAX = 1 << 27
};

/* A hash set of numbers, by what they stand for. */
struct set {
    uint32_t *slots; /* 0: free slot */
    size_t room;     /* a power of two, or 0 */
    size_t count;
};

struct sbx_places {
    char *text_bytes; /* texts one after the other, each with its NUL; the number of a text is its offset */
    size_t text_count, text_room;
    struct sbx_function *functions; /* [0] is unused */
    size_t function_count, function_room;
    struct sbx_place *places; /* [0] is unused */
    size_t place_count, place_room;
    struct set text_set, function_set, place_set;
    bool failed;
};

const char *sbx_symbol_source_name(enum sbx_symbol_source source)
{
    static const char *const names[SBX_SYMBOLS_SOURCES] = {
        [SBX_SYMBOLS_NONE] = "none",
        [SBX_SYMBOLS_DWARF] = "dwarf",
        [SBX_SYMBOLS_SYMTAB] = "symtab",
        [SBX_SYMBOLS_DYNSYM] = "dynsym",
    };
    return (size_t)source < SBX_SYMBOLS_SOURCES ? names[source] : names[SBX_SYMBOLS_NONE];
}

/* ---- sets and lists ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_text(const char *text, size_t bytes)
{
    uint64_t hash = bytes;
    for (; bytes >= 8; bytes -= 8, text += 8) {
        uint64_t word;
        memcpy(&word, text, sizeof word);
        hash = mix(hash, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, text, bytes);
    return mix(hash, rest);
}

static uint64_t hash_function(struct sbx_function function)
{
    return mix(mix(1, function.name), (uint64_t)function.source << 1 | function.is_readable);
}

static uint64_t hash_place(struct sbx_place place)
{
    return mix(mix(2, (uint64_t)place.function << 32 | place.file), (uint64_t)place.line << 32 | place.into);
}

/* The hash of what `number` stands for. This depends on which of the three sets it is in. */
static uint64_t hash_of(const struct sbx_places *places, const struct set *set, uint32_t number)
{
    if (set == &places->text_set) {
        const char *text = places->text_bytes + number;
        return hash_text(text, strlen(text));
    }
    return set == &places->function_set ? hash_function(places->functions[number]) : hash_place(places->places[number]);
}

/* Make room for one more. At least a third of the slots stays free. */
static bool grow_set(struct sbx_places *places, struct set *set)
{
    if (3 * (set->count + 1) <= 2 * set->room) {
        return true;
    }
    size_t room = set->room == 0 ? 256 : set->room * 2;
    uint32_t *slots = calloc(room, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->room; i++) {
        if (set->slots[i] != 0) {
            size_t at = hash_of(places, set, set->slots[i]) & (room - 1);
            while (slots[at] != 0) {
                at = (at + 1) & (room - 1);
            }
            slots[at] = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->room = room;
    return true;
}

/* Make room for `count` entries in a list. Returns false if memory runs out or `max` is exceeded. */
static bool grow_list(void **list, size_t *room, size_t count, size_t max, size_t entry_bytes)
{
    if (count <= *room) {
        return true;
    }
    size_t wanted = *room == 0 ? 1024 : *room * 2;
    wanted = wanted < count ? count : wanted;
    void *grown = count > max ? NULL : realloc(*list, wanted * entry_bytes);
    if (grown == NULL) {
        return false;
    }
    *list = grown;
    *room = wanted;
    return true;
}

static uint32_t fail(struct sbx_places *places)
{
    places->failed = true;
    return 0;
}

/* ---- texts, functions, places ---- */

struct sbx_places *sbx_places_create(void)
{
    struct sbx_places *places = calloc(1, sizeof *places);
    if (places == NULL) {
        return NULL;
    }
    if (!grow_list((void **)&places->text_bytes, &places->text_room, 1, TEXT_BYTES_MAX, 1) ||
        !grow_list((void **)&places->functions, &places->function_room, 1, ENTRIES_MAX, sizeof *places->functions) ||
        !grow_list((void **)&places->places, &places->place_room, 1, ENTRIES_MAX, sizeof *places->places)) {
        sbx_places_destroy(places);
        return NULL;
    }
    places->text_bytes[0] = '\0';
    places->functions[0] = (struct sbx_function){0};
    places->places[0] = (struct sbx_place){0};
    places->text_count = places->function_count = places->place_count = 1;
    return places;
}

void sbx_places_destroy(struct sbx_places *places)
{
    if (places == NULL) {
        return;
    }
    free(places->text_bytes);
    free(places->functions);
    free(places->places);
    free(places->text_set.slots);
    free(places->function_set.slots);
    free(places->place_set.slots);
    free(places);
}

bool sbx_places_failed(const struct sbx_places *places)
{
    return places->failed;
}

uint32_t sbx_places_add_text(struct sbx_places *places, const char *text)
{
    size_t bytes = strnlen(text, SBX_SYMBOL_NAME_BYTES_MAX - 1);
    if (bytes == 0 || !grow_set(places, &places->text_set)) {
        return bytes == 0 ? 0 : fail(places);
    }
    struct set *set = &places->text_set;
    size_t at = hash_text(text, bytes) & (set->room - 1);
    for (; set->slots[at] != 0; at = (at + 1) & (set->room - 1)) {
        const char *known = places->text_bytes + set->slots[at];
        if (strncmp(known, text, bytes) == 0 && known[bytes] == '\0') {
            return set->slots[at];
        }
    }
    if (!grow_list((void **)&places->text_bytes, &places->text_room, places->text_count + bytes + 1, TEXT_BYTES_MAX,
                   1)) {
        return fail(places);
    }
    uint32_t number = (uint32_t)places->text_count;
    memcpy(places->text_bytes + number, text, bytes);
    places->text_bytes[number + bytes] = '\0';
    places->text_count += bytes + 1;
    set->slots[at] = number;
    set->count++;
    return number;
}

uint32_t sbx_places_add_function(struct sbx_places *places, struct sbx_function function)
{
    struct set *set = &places->function_set;
    if (!grow_set(places, set) || !grow_list((void **)&places->functions, &places->function_room,
                                             places->function_count + 1, ENTRIES_MAX, sizeof *places->functions)) {
        return fail(places);
    }
    size_t at = hash_function(function) & (set->room - 1);
    for (; set->slots[at] != 0; at = (at + 1) & (set->room - 1)) {
        const struct sbx_function *known = &places->functions[set->slots[at]];
        if (known->name == function.name && known->source == function.source &&
            known->is_readable == function.is_readable) {
            return set->slots[at];
        }
    }
    places->functions[places->function_count] = function;
    set->slots[at] = (uint32_t)places->function_count;
    set->count++;
    return (uint32_t)places->function_count++;
}

uint32_t sbx_places_add(struct sbx_places *places, struct sbx_place place)
{
    struct set *set = &places->place_set;
    if (place.into >= places->place_count || !grow_set(places, set) ||
        !grow_list((void **)&places->places, &places->place_room, places->place_count + 1, ENTRIES_MAX,
                   sizeof *places->places)) {
        return fail(places);
    }
    size_t at = hash_place(place) & (set->room - 1);
    for (; set->slots[at] != 0; at = (at + 1) & (set->room - 1)) {
        if (memcmp(&places->places[set->slots[at]], &place, sizeof place) == 0) {
            return set->slots[at];
        }
    }
    places->places[places->place_count] = place;
    set->slots[at] = (uint32_t)places->place_count;
    set->count++;
    return (uint32_t)places->place_count++;
}

/* ---- reading ---- */

const char *sbx_places_text(const struct sbx_places *places, uint32_t text)
{
    return text < places->text_count ? places->text_bytes + text : "";
}

struct sbx_function sbx_places_function(const struct sbx_places *places, uint32_t function)
{
    return places->functions[function < places->function_count ? function : 0];
}

struct sbx_place sbx_places_get(const struct sbx_places *places, uint32_t place)
{
    return places->places[place < places->place_count ? place : 0];
}

size_t sbx_places_chain(const struct sbx_places *places, uint32_t place, struct sbx_code_frame *frames_out, size_t max)
{
    size_t count = 0;
    while (place != 0 && count < max && count < SBX_INLINES_MAX) {
        struct sbx_place at = sbx_places_get(places, place);
        struct sbx_function function = sbx_places_function(places, at.function);
        frames_out[count++] = (struct sbx_code_frame){.name = sbx_places_text(places, function.name),
                                                      .file = at.file == 0 ? NULL : sbx_places_text(places, at.file),
                                                      .line = at.line,
                                                      .source = function.source,
                                                      .is_readable = function.is_readable,
                                                      .inlined = at.into != 0};
        place = at.into;
    }
    return count;
}

bool sbx_places_is_named(const struct sbx_places *places, uint32_t place)
{
    struct sbx_place at = sbx_places_get(places, place);
    while (at.into != 0) { /* this ends: the number of `into` is always smaller */
        at = sbx_places_get(places, at.into);
    }
    return at.function != 0;
}

size_t sbx_places_function_count(const struct sbx_places *places)
{
    return places->function_count - 1;
}

size_t sbx_places_count(const struct sbx_places *places)
{
    return places->place_count - 1;
}
