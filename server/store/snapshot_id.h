/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_id.h - 16 bytes and their 32 lower hex digits. Only this file turns text from outside into an id, and no
 * other text of a request reaches the store. */
#ifndef SBX_SNAPSHOT_ID_H
#define SBX_SNAPSHOT_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SBX_ID_BYTES = 16,
    SBX_ID_TEXT_BYTES = 33
};

/* Exactly 32 lower hex digits. */
bool sbx_id_parse(const char *text, size_t bytes, uint8_t id_out[SBX_ID_BYTES]);
void sbx_id_print(const uint8_t id[SBX_ID_BYTES], char text_out[SBX_ID_TEXT_BYTES]);

/* Lower hex of `count` bytes and a zero: `text_out` has 2 * count + 1 bytes. */
void sbx_hex_print(const uint8_t *bytes, size_t count, char *text_out);
/* Read bytes from lower hex. Returns their number, or 0 when the text is not hex or does not fit. */
size_t sbx_hex_read(const char *text, uint8_t *bytes_out, size_t room);

#endif
