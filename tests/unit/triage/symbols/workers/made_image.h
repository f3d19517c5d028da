/* SPDX-License-Identifier: Apache-2.0 */
/* made_image.h - a file read by a worker, into an image in memory. */
#ifndef MADE_IMAGE_H
#define MADE_IMAGE_H

#include <stdint.h>

#include "symbol_image.h"

/* What the last worker said; "" when nothing. */
extern char made_image_why[240];

/* Let a worker of at most `memory_bytes` (0: as many as usual) read `path`. Returns what it returned. On success the image
 * is opened and verified (given), unless `image_out` is NULL. */
int made_image(const char *path, uint64_t memory_bytes, struct sbx_symbol_image **image_out);

#endif
