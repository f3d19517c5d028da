/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_image.h - the names of one program or library: a file of compressed chunks, never changed once it is written.
 *
 *   header | directory: one entry a chunk with names, by address | chunks, each zstd, one behind the other
 *
 * Header and directory have a CRC-32C, and so has each compressed chunk. The digest says what the chunks hold, not when
 * they were made: two files that say the same have the same. A reader trusts nothing and bounds everything; it reads and
 * does not map, because a file that is cut under a mapping would kill the process. */
#ifndef SBX_SYMBOL_IMAGE_H
#define SBX_SYMBOL_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "symbol_places.h"
#include "symbol_spans.h"

enum {
    /* Which way of reading symbol files made it. A change of what is stored for the same file makes it one more: then
     * files are added anew, and tables of another version are not read. */
    SBX_SYMBOL_PARSER_VERSION = 2,
    SBX_IMAGE_BUILD_ID_BYTES_MAX = 32,
    SBX_IMAGE_DIGEST_BYTES = 32,
    SBX_IMAGE_NAME_BYTES = 64,
    SBX_IMAGE_CHUNKS_MAX = 1 << 20 /* 4 GiB of code */
};

/* From which kind of file names come. Numbers are stored: append only. */
enum sbx_image_kind {
    SBX_IMAGE_ELF = 0,
    SBX_IMAGE_MACHO = 1, /* a program or library of an Apple system */
    SBX_IMAGE_DSYM = 2,  /* its debug information, in a file of its own */
    SBX_IMAGE_KINDS = 3  /* how many */
};
const char *sbx_image_kind_name(enum sbx_image_kind kind); /* "elf", "macho", "dsym" */

struct sbx_image_facts {
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    uint32_t build_id_bytes;
    uint16_t machine; /* e_machine of ELF, also where the file is none */
    enum sbx_image_kind kind;
    uint64_t base;                   /* of Mach-O: where the linker put it, if that is a multiple of 4 GiB; else 0 */
    uint64_t made_s;                 /* when, in seconds since 1970 */
    enum sbx_symbol_source best;     /* the best source of its names */
    char name[SBX_IMAGE_NAME_BYTES]; /* what the file is called, "" when nothing tells */
    /* Set by sbx_symbol_image_write(): */
    uint64_t chunk_count, function_count, place_count, code_bytes; /* code_bytes: how much code has a name */
    uint8_t digest[SBX_IMAGE_DIGEST_BYTES];
};

/* Write an image to the empty file `fd`. Returns 0, -EFBIG (more than 4 GiB of code, or a chunk beyond its limit), or
 * -errno. */
int sbx_symbol_image_write(int fd, struct sbx_image_facts *facts, const struct sbx_places *places,
                           const struct sbx_span *spans, size_t count);

struct sbx_symbol_image;

/* `fd` is taken, also on failure. Chunks that were decompressed are kept, up to `cache_bytes`. Returns 0, -EBADMSG
 * (damaged, or none of ours), -EPROTONOSUPPORT (of another version), or -errno. */
int sbx_symbol_image_open(int fd, size_t cache_bytes, struct sbx_symbol_image **image_out);
void sbx_symbol_image_close(struct sbx_symbol_image *image);
const struct sbx_image_facts *sbx_symbol_image_facts(const struct sbx_symbol_image *image);

/* Read every chunk and compare with the digest. Returns 0, -EBADMSG or -errno. */
int sbx_symbol_image_verify(struct sbx_symbol_image *image);

/* The frames at `address`, innermost first; returns how many (0 also when its chunk is damaged). Texts are borrowed until
 * the next question. */
size_t sbx_symbol_image_find(struct sbx_symbol_image *image, uint64_t address, struct sbx_code_frame *frames_out,
                             size_t max);

#endif
