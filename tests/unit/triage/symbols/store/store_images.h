/* SPDX-License-Identifier: Apache-2.0 */
/* store_images.h - images for tests of stores. Their content is calculated from numbers. */
#ifndef SBX_STORE_IMAGES_H
#define SBX_STORE_IMAGES_H

#include "symbol_store.h"

enum {
    IMAGE_ID_BYTES = 20,
    IMAGE_CHUNKS = 200, /* more than are in one place of a cluster */
    IMAGE_BEGIN = 0x1000
};

/* Write an image to `fd`: `chunks` chunks of code with functions NAME_0, NAME_1, ...; each reaches across the border of
 * two chunks. Returns as sbx_symbol_image_write(). */
int store_image_write(int fd, const uint8_t *build_id, const char *name, enum sbx_symbol_source source,
                      unsigned chunks);
/* The function name at the address in such an image. */
void store_image_name(const char *name, uint64_t address, char *out, size_t bytes);

/* Put such an image into a store. Returns as sbx_symbol_store_commit(). */
int store_image_put(struct sbx_symbol_store *store, const uint8_t *build_id, const char *name,
                    enum sbx_symbol_source source, unsigned chunks, enum sbx_store_outcome *outcome,
                    enum sbx_symbol_source *before);

/* How the store's answers at 64 addresses across the image compare with those of NAME. */
enum store_image_answer {
    STORE_IMAGE_NONE,  /* no image, or no answer at all */
    STORE_IMAGE_RIGHT, /* all are right */
    STORE_IMAGE_PART,  /* some are missing, none is wrong */
    STORE_IMAGE_WRONG
};
enum store_image_answer store_image_ask(struct sbx_symbol_store *store, const uint8_t *build_id, const char *name,
                                        unsigned chunks);
/* The same for an open image. */
enum store_image_answer store_image_check(struct sbx_symbol_image *image, const char *name, unsigned chunks);

#endif
