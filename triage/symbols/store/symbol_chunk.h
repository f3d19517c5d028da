/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_chunk.h - the names of 4 KiB of code, complete in itself: the unit that is stored, fetched and cached.
 *
 *  header | ranges | places | functions | texts
 *
 * All numbers are 32 bits, little-endian. A range begins at an offset within the chunk and extends to the next range,
 * or to the chunk's end. A range of code that spans several chunks is in each of them. A place refers to a function, a
 * file and the place it was inlined into. That place has a smaller number, so no chain can be a circle. Texts end in
 * NUL. Number 0 is the empty text, and no place or function.
 *
 * A reader trusts nothing: sbx_symbol_chunk_open() checks the whole chunk once, before any lookup. */
#ifndef SBX_SYMBOL_CHUNK_H
#define SBX_SYMBOL_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "symbol_places.h"
#include "symbol_spans.h"

/* Bytes of code in a chunk. 4 KiB, because a chunk is decompressed for the first address in it (tens of microseconds),
 * and smaller chunks repeat more texts. The format does not depend on the size; the keys of a store do. */
#define SBX_CHUNK_CODE_BYTES UINT64_C(4096)

enum {
    SBX_CHUNK_BYTES_MAX = 32 << 20 /* of one chunk; a writer that needs more fails */
};

/* A checked chunk; the arrays point into its bytes. */
struct sbx_symbol_chunk {
    uint32_t range_count, place_count, function_count, text_bytes;
    const uint32_t *ranges;    /* pairs: begin, place (0: nothing is known) */
    const uint32_t *places;    /* fours: function, file, line, into; [0] is unused */
    const uint32_t *functions; /* pairs: name, source | readable << 8; [0] is unused */
    const char *texts;
};

struct sbx_chunk_writer;

/* `places` is borrowed until destroy. NULL if memory runs out. */
struct sbx_chunk_writer *sbx_chunk_writer_create(const struct sbx_places *places);
void sbx_chunk_writer_destroy(struct sbx_chunk_writer *writer);

/* Encode the chunk for [begin, begin + SBX_CHUNK_CODE_BYTES) from those of `count` spans that lie in it. *bytes_out is
 * borrowed until the next call. Equal spans and places give equal bytes. Returns 0, -ENOMEM, or -EFBIG. */
int sbx_chunk_writer_encode(struct sbx_chunk_writer *writer, uint64_t begin, const struct sbx_span *spans, size_t count,
                            const uint8_t **bytes_out, size_t *byte_count_out);

/* Check `count` bytes (borrowed, aligned for uint32_t) and prepare them for lookups. Returns 0 or -EBADMSG. */
int sbx_symbol_chunk_open(const uint8_t *bytes, size_t count, struct sbx_symbol_chunk *chunk_out);

/* The frames at `offset` within the chunk, innermost first. Returns their number. Texts are borrowed from the bytes. */
size_t sbx_symbol_chunk_find(const struct sbx_symbol_chunk *chunk, uint32_t offset, struct sbx_code_frame *frames_out,
                             size_t max);

#endif
