/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a chunk of names, as a shared store may return it: once it could be opened, all of it can be
 * read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "symbol_chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_symbol_chunk chunk;
    struct sbx_code_frame frames[SBX_INLINES_MAX];
    uint8_t *copy = malloc(bytes + 1); /* aligned, and of the exact size */
    MUST(copy != NULL);
    memcpy(copy, data, bytes);
    if (sbx_symbol_chunk_open(copy, bytes, &chunk) == 0) {
        for (uint32_t at = 0; at < SBX_CHUNK_CODE_BYTES; at += at < 64 ? 1 : 61) {
            size_t count = sbx_symbol_chunk_find(&chunk, at, frames, SBX_INLINES_MAX);
            MUST(count <= SBX_INLINES_MAX);
            for (size_t i = 0; i < count; i++) {
                MUST(strlen(frames[i].name) < bytes && (frames[i].file == NULL || strlen(frames[i].file) < bytes));
                MUST(frames[i].source < SBX_SYMBOLS_SOURCES);
            }
        }
    }
    free(copy);
    return 0;
}
