/* SPDX-License-Identifier: Apache-2.0 */
/* made_image.h - lets a worker read a file into an image in memory. */
#ifndef MADE_IMAGE_H
#define MADE_IMAGE_H

#include <stdint.h>

#include "symbol_image.h"

/* The message of the last worker; "" for none. */
extern char made_image_why[240];

/* Let a worker with at most `memory_bytes` (0: the usual limit) read `path`. Returns the worker's result. On success
 * the image is opened and verified (given), unless `image_out` is NULL. */
int made_image(const char *path, uint64_t memory_bytes, struct sbx_symbol_image **image_out);

#endif
