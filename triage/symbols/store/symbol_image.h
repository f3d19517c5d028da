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

#include <stdbool.h>
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

/* A chunk as it is stored: compressed. */
struct sbx_image_chunk {
    uint32_t index;      /* in the directory */
    uint64_t number;     /* address / SBX_CHUNK_CODE_BYTES */
    uint8_t *bytes;      /* where to put it: room for byte_count */
    uint32_t byte_count; /* what the directory says that it has; another length is none */
    bool is_there;
};

/* Where an image is that is in no file. What these give is checked like the bytes of a file. */
struct sbx_image_calls {
    /* Header and directory as they are now: *head_out is given (free). `*generation_out` differs where the chunks of one
     * head are not those of another. Returns 0, -ENOENT or -errno. */
    int (*read_head)(void *context, uint8_t **head_out, size_t *count_out, uint64_t *generation_out);
    /* The chunks of the head that was read last, in one round trip where possible. Returns 0, also when chunks are
     * missing, or -errno when it cannot be told. */
    int (*fetch)(void *context, struct sbx_image_chunk *chunks, size_t count);
    void (*tell_lost)(void *context, size_t chunks); /* that many were missing or damaged */
    void (*close)(void *context);
};
struct sbx_image_source {
    const struct sbx_image_calls *calls; /* borrowed */
    void *context;
};
/* As sbx_symbol_image_open(); the source is taken. */
int sbx_symbol_image_open_source(struct sbx_image_source source, size_t cache_bytes,
                                 struct sbx_symbol_image **image_out);
/* Where it comes from; zero of a file. */
struct sbx_image_source sbx_symbol_image_source(const struct sbx_symbol_image *image);

void sbx_symbol_image_close(struct sbx_symbol_image *image);
const struct sbx_image_facts *sbx_symbol_image_facts(const struct sbx_symbol_image *image);

/* Read every chunk and compare with the digest. Returns 0, -EBADMSG or -errno. */
int sbx_symbol_image_verify(struct sbx_symbol_image *image);

/* Fetch what questions about these addresses need, in one round trip where possible: of a file nothing. Returns 0 or
 * -errno; questions are answered also without. */
int sbx_symbol_image_prefetch(struct sbx_symbol_image *image, const uint64_t *addresses, size_t count);

/* Whether a question found no answer because chunks were missing or damaged, or their source was away. */
bool sbx_symbol_image_is_troubled(const struct sbx_symbol_image *image);
/* Whether it was for want of memory, since this was asked last: then it may be found later. */
bool sbx_symbol_image_lacked_memory(struct sbx_symbol_image *image);

/* The frames at `address`, innermost first; returns how many (0 also when its chunk is damaged). Texts are borrowed until
 * the next question. */
size_t sbx_symbol_image_find(struct sbx_symbol_image *image, uint64_t address, struct sbx_code_frame *frames_out,
                             size_t max);

/* For those who put an image elsewhere. Of a file: header and directory, given in *head_out (free). Returns 0 or
 * -errno. */
int sbx_symbol_image_read_head(const struct sbx_symbol_image *image, uint8_t **head_out, size_t *count_out);
/* What header and directory say, without chunks; *stored_out: how many bytes these have. Returns as
 * sbx_symbol_image_open(). */
int sbx_symbol_image_head_facts(const uint8_t *head, size_t count, struct sbx_image_facts *facts_out,
                                uint64_t *stored_out);
/* How many bytes chunk `index` has as it is stored, and its number. */
size_t sbx_symbol_image_chunk_bytes(const struct sbx_symbol_image *image, uint32_t index, uint64_t *number_out);
/* Those bytes, unchecked. Returns 0, -EBADMSG or -errno. */
int sbx_symbol_image_read_chunk(struct sbx_symbol_image *image, uint32_t index, uint8_t *bytes);

#endif
