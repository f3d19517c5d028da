/* SPDX-License-Identifier: Apache-2.0 */
/* guarded_bytes.h - memory between inaccessible pages: a read one byte outside crashes in every build. */
#ifndef SBX_TEST_GUARDED_BYTES_H
#define SBX_TEST_GUARDED_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct guarded_bytes {
    uint8_t *at; /* `bytes` long; ends where an unreadable page begins */
    size_t bytes;
    uint8_t *mapping;
    size_t mapping_bytes;
};

/* Room for up to `bytes_max`; guarded_bytes_set() chooses how much of it is readable at the end. */
void guarded_bytes_init(struct guarded_bytes *guarded, size_t bytes_max);
void guarded_bytes_set(struct guarded_bytes *guarded, const void *content, size_t bytes);
void guarded_bytes_finish(struct guarded_bytes *guarded);

#endif
