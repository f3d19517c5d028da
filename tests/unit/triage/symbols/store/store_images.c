/* SPDX-License-Identifier: Apache-2.0 */
/* store_images.c - images for tests of stores. */
#include "store_images.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    FUNCTION_BYTES = 0x1000,
    SHIFT = 0x800, /* offset of functions from chunks */
    QUESTIONS = 64
};

void store_image_name(const char *name, uint64_t address, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s_%u", name, (unsigned)((address - IMAGE_BEGIN - SHIFT) / FUNCTION_BYTES));
}

int store_image_write(int fd, const uint8_t *build_id, const char *name, enum sbx_symbol_source source, unsigned chunks)
{
    struct sbx_places *places = sbx_places_create();
    struct sbx_spans spans = {0};
    struct sbx_image_facts facts = {.build_id_bytes = IMAGE_ID_BYTES, .best = source, .made_s = 1};
    int result = 0;
    memcpy(facts.build_id, build_id, IMAGE_ID_BYTES);
    for (unsigned i = 0; i + 1 < chunks && result == 0; i++) {
        uint64_t begin = IMAGE_BEGIN + SHIFT + (uint64_t)i * FUNCTION_BYTES;
        char text[64];
        store_image_name(name, begin, text, sizeof text);
        uint32_t number = sbx_places_add_text(places, text), file = sbx_places_add_text(places, "file.c");
        uint32_t function = sbx_places_add_function(places, (struct sbx_function){number, (uint8_t)source, true});
        uint32_t place = sbx_places_add(places, (struct sbx_place){.function = function, .file = file, .line = i + 1});
        result = sbx_spans_add(&spans, (struct sbx_span){begin, begin + FUNCTION_BYTES, place});
    }
    result = result == 0 ? sbx_symbol_image_write(fd, &facts, places, spans.spans, spans.count) : result;
    sbx_spans_finish(&spans);
    sbx_places_destroy(places);
    return result;
}

int store_image_put(struct sbx_symbol_store *store, const uint8_t *build_id, const char *name,
                    enum sbx_symbol_source source, unsigned chunks, enum sbx_store_outcome *outcome,
                    enum sbx_symbol_source *before)
{
    struct sbx_store_draft draft;
    int fd, result = sbx_symbol_store_begin(store, &draft, &fd);
    if (result != 0) {
        return result;
    }
    result = store_image_write(fd, build_id, name, source, chunks);
    close(fd);
    if (result != 0) {
        sbx_symbol_store_abandon(store, &draft);
        return result;
    }
    return sbx_symbol_store_commit(store, &draft, build_id, IMAGE_ID_BYTES, outcome, before);
}

enum store_image_answer store_image_check(struct sbx_symbol_image *image, const char *name, unsigned chunks)
{
    unsigned right = 0, missing = 0;
    for (unsigned i = 0; i < QUESTIONS; i++) {
        uint64_t address = IMAGE_BEGIN + SHIFT + (uint64_t)(chunks - 1) * FUNCTION_BYTES * i / QUESTIONS;
        struct sbx_code_frame frame;
        char wanted[64];
        size_t count = sbx_symbol_image_find(image, address, &frame, 1);
        store_image_name(name, address, wanted, sizeof wanted);
        missing += count == 0;
        right += count == 1 && strcmp(frame.name, wanted) == 0 && strcmp(frame.file, "file.c") == 0;
    }
    return right == QUESTIONS            ? STORE_IMAGE_RIGHT
           : right + missing < QUESTIONS ? STORE_IMAGE_WRONG
           : right == 0                  ? STORE_IMAGE_NONE
                                         : STORE_IMAGE_PART;
}

enum store_image_answer store_image_ask(struct sbx_symbol_store *store, const uint8_t *build_id, const char *name,
                                        unsigned chunks)
{
    struct sbx_symbol_image *image;
    if (sbx_symbol_store_find(store, build_id, IMAGE_ID_BYTES, (uint64_t)time(NULL), 1 << 20, &image) != 0) {
        return STORE_IMAGE_NONE;
    }
    enum store_image_answer answer = store_image_check(image, name, chunks);
    sbx_symbol_image_close(image);
    return answer;
}
