/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_id.h - 16 bytes and their 32 lower hex digits, and the key that groups snapshots into issues.
 *
 * Text from outside becomes an id only here; nothing else of a request ever reaches the store. */
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

/* The key of the issue that a verdict belongs to: the same on every machine and in every version, so that links live.
 * The suffixes compilers give to copies of a function (".constprop.0", ".part.1", ".cold") do not count. Strings are
 * borrowed and never NULL. */
void sbx_issue_key(const char *cause, const char *function, const char *module, const char *app,
                   uint8_t key_out[SBX_ID_BYTES]);

#endif
