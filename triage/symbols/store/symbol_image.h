/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_image.h - the names of one program or library: a file of compressed chunks. It is never changed after it was
 * written.
 *
 *  header | directory: one entry per chunk with names, by address | chunks, each with zstd, one after the other
 *
 * Header and directory have a CRC-32C, and so has each compressed chunk. The digest depends on the content of the
 * chunks, not on the time when they were made: two files with equal content have equal digests. A reader trusts nothing
 * and bounds everything. It reads the file and does not map it, because a truncated file under a mapping would kill the
 * process. */
#ifndef SBX_SYMBOL_IMAGE_H
#define SBX_SYMBOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol_places.h"
#include "symbol_spans.h"

enum {
    /* Version of the parser that reads symbol files. It is increased when the stored content for the same file changes.
     * Then files must be added again, and images of other versions are not read. */
    SBX_SYMBOL_PARSER_VERSION = 2,
    SBX_IMAGE_BUILD_ID_BYTES_MAX = 32,
    SBX_IMAGE_DIGEST_BYTES = 32,
    SBX_IMAGE_NAME_BYTES = 64,
    SBX_IMAGE_CHUNKS_MAX = 1 << 20 /* 4 GiB of code */
};

/* The kind of file that the names come from. Numbers are stored: append only. */
enum sbx_image_kind {
    SBX_IMAGE_ELF = 0,
    SBX_IMAGE_MACHO = 1, /* a program or library of an Apple system */
    SBX_IMAGE_DSYM = 2,  /* separate debug information of one */
    SBX_IMAGE_KINDS = 3  /* number of kinds */
};
const char *sbx_image_kind_name(enum sbx_image_kind kind); /* "elf", "macho", "dsym" */

struct sbx_image_facts {
    uint8_t build_id[SBX_IMAGE_BUILD_ID_BYTES_MAX];
    uint32_t build_id_bytes;
    uint16_t machine; /* e_machine of ELF, also for Mach-O files */
    enum sbx_image_kind kind;
    uint64_t base;                   /* for Mach-O: the address that the linker chose, if it is a multiple of 4 GiB;
                                      * else 0 */
    uint64_t made_s;                 /* time of creation, in seconds since 1970 */
    enum sbx_symbol_source best;     /* the best source of its names */
    char name[SBX_IMAGE_NAME_BYTES]; /* name of the file; "": not known */
    /* Set by sbx_symbol_image_write(): */
    uint64_t chunk_count, function_count, place_count, code_bytes; /* code_bytes: how much code has names */
    uint8_t digest[SBX_IMAGE_DIGEST_BYTES];
};

/* Write an image to the empty file `fd`. Returns 0, -EFBIG (more than 4 GiB of code, or a chunk beyond its limit), or
 * -errno. */
int sbx_symbol_image_write(int fd, struct sbx_image_facts *facts, const struct sbx_places *places,
                           const struct sbx_span *spans, size_t count);

struct sbx_symbol_image;

/* `fd` is taken, also on failure. Up to `cache_bytes` of decompressed chunks are kept. Returns 0, -EBADMSG (damaged, or
 * another kind of file), -EPROTONOSUPPORT (another version), or -errno. */
int sbx_symbol_image_open(int fd, size_t cache_bytes, struct sbx_symbol_image **image_out);

/* A chunk as it is stored: compressed. */
struct sbx_image_chunk {
    uint32_t index;      /* index in the directory */
    uint64_t number;     /* address / SBX_CHUNK_CODE_BYTES */
    uint8_t *bytes;      /* memory for the bytes: byte_count */
    uint32_t byte_count; /* size by the directory; a chunk of another size counts as missing */
    bool is_there;
};

/* A source of an image that is not in a file. Its data is checked like the bytes of a file. */
struct sbx_image_calls {
    /* The present header and directory; *head_out is given (free). `*generation_out` differs if the chunks of two heads
     * differ. Returns 0, -ENOENT or -errno. */
    int (*read_head)(void *context, uint8_t **head_out, size_t *count_out, uint64_t *generation_out);
    /* The chunks of the head that was read last, if possible in one round trip. Returns 0, also if chunks are missing,
     * or -errno if that cannot be found out. */
    int (*fetch)(void *context, struct sbx_image_chunk *chunks, size_t count);
    void (*tell_lost)(void *context, size_t chunks); /* reports how many chunks were missing or damaged */
    void (*close)(void *context);
};
struct sbx_image_source {
    const struct sbx_image_calls *calls; /* borrowed */
    void *context;
};
/* As sbx_symbol_image_open(); the source is taken. */
int sbx_symbol_image_open_source(struct sbx_image_source source, size_t cache_bytes,
                                 struct sbx_symbol_image **image_out);
/* The image's source; all zero for a file. */
struct sbx_image_source sbx_symbol_image_source(const struct sbx_symbol_image *image);

void sbx_symbol_image_close(struct sbx_symbol_image *image);
const struct sbx_image_facts *sbx_symbol_image_facts(const struct sbx_symbol_image *image);

/* Read every chunk and compare with the digest. Returns 0, -EBADMSG or -errno. */
int sbx_symbol_image_verify(struct sbx_symbol_image *image);

/* Fetch what lookups of these addresses need, if possible in one round trip. Does nothing for a file. Returns 0 or
 * -errno. Lookups also work without it. */
int sbx_symbol_image_prefetch(struct sbx_symbol_image *image, const uint64_t *addresses, size_t count);

/* Whether a lookup failed because chunks were missing or damaged, or because their source did not answer. */
bool sbx_symbol_image_is_troubled(const struct sbx_symbol_image *image);
/* Whether a lookup failed for lack of memory since the last call of this function. Then the answer may be found
 * later. */
bool sbx_symbol_image_lacked_memory(struct sbx_symbol_image *image);

/* The frames at `address`, innermost first. Returns their number (0 also if the chunk is damaged). Texts are borrowed
 * until the next lookup. */
size_t sbx_symbol_image_find(struct sbx_symbol_image *image, uint64_t address, struct sbx_code_frame *frames_out,
                             size_t max);

/* For copying an image elsewhere; only for an image in a file. Header and directory: given in *head_out (free). Returns
 * 0 or -errno. */
int sbx_symbol_image_read_head(const struct sbx_symbol_image *image, uint8_t **head_out, size_t *count_out);
/* Read header and directory, without chunks. *stored_out: the stored bytes of the chunks. Returns as
 * sbx_symbol_image_open(). */
int sbx_symbol_image_head_facts(const uint8_t *head, size_t count, struct sbx_image_facts *facts_out,
                                uint64_t *stored_out);
/* The stored size of chunk `index`, and its number. */
size_t sbx_symbol_image_chunk_bytes(const struct sbx_symbol_image *image, uint32_t index, uint64_t *number_out);
/* Those bytes, unchecked. Returns 0, -EBADMSG or -errno. */
int sbx_symbol_image_read_chunk(struct sbx_symbol_image *image, uint32_t index, uint8_t *bytes);

#endif
