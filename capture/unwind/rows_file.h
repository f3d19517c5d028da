/* SPDX-License-Identifier: Apache-2.0 */
/* rows_file.h - the format of a module's rows on disk: writes it and checks it. Pure: no file is touched here.
 *
 *   0    +------------------------------------------------+
 *        | struct sbx_rows_file_header           128 bytes |  what it is, whose rows, how many, checksum
 *   128  +------------------------------------------------+
 *        | buckets    (bucket_count + 1) x uint32_t        |
 *        | offsets    row_count x uint32_t                 |  as unwind_rows.c has them, so that the walker reads
 *        | rules      row_count x uint32_t                 |  them in place, in the loaded copy of the file
 *        +------------------------------------------------+  file_bytes
 *
 * Integers are in the byte order of the machine, because such a file never leaves it. In another byte order the version
 * number does not match. Rows are found by build-id, and accepted only for the same text range and the same place and
 * size of .eh_frame_hdr, because a tool that moves segments keeps the build-id.
 *
 * `encoding` identifies the meaning of the rules. It is a hash of the sources that define it (CMakeLists.txt). So a new
 * encoder never uses rows of an old one, and no version number has to be changed by hand. */
#ifndef SBX_ROWS_FILE_H
#define SBX_ROWS_FILE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "unwind_rows.h"

#define SBX_ROWS_FILE_MAGIC "SBXROWS\n" /* 8 bytes */
enum {
    SBX_ROWS_FILE_VERSION = 1,
    SBX_ROWS_KEY_BYTES = 32,     /* of a build-id; longer ones are cut */
    SBX_ROWS_KEY_BYTES_MIN = 8,  /* shorter build-ids are not trusted to be unique */
    SBX_ROWS_FILE_MAX = 32 << 20 /* larger rows are not cached; libLLVM's are 8 MiB */
};

/* Identifies the module. All addresses are in the module's own numbering. */
struct sbx_rows_key {
    uint32_t build_id_bytes;
    uint8_t build_id[SBX_ROWS_KEY_BYTES];
    uint64_t text_begin, text_end; /* executable range */
    uint64_t eh_frame_hdr_address, eh_frame_hdr_bytes;
};

struct sbx_rows_file_header {
    char magic[8];
    uint32_t version;
    uint32_t encoding; /* sbx_rows_encoding() */
    uint32_t machine;  /* e_machine of the architecture */
    uint32_t build_id_bytes;
    uint8_t build_id[SBX_ROWS_KEY_BYTES];
    uint64_t text_begin, text_end;
    uint64_t eh_frame_hdr_address, eh_frame_hdr_bytes;
    uint64_t file_bytes;
    uint64_t checksum; /* XXH64 of the header with 0 here, then of the rest with that hash as seed */
    uint32_t row_count, bucket_count;
    uint64_t reserved[2]; /* 0 */
};
static_assert(sizeof(struct sbx_rows_file_header) == 128, "the arrays begin on a cache line");

/* Identifies the meaning of the rules of this build. */
uint32_t sbx_rows_encoding(void);

/* XXH64 of `bytes` (xxHash, github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md): some 10 GB/s without special
 * instructions. It must find torn or corrupted files; it does not protect against forgery. */
uint64_t sbx_xxh64(const uint8_t *bytes, size_t count, uint64_t seed);

/* The checksum of a whole file in memory. The file has at least the size of a header. */
uint64_t sbx_rows_file_checksum(const uint8_t *file, size_t bytes);

/* Make the header for these rows, with its checksum. Returns 0, or -E2BIG. */
SBX_MUST_CHECK int sbx_rows_file_describe(const struct sbx_rows_key *key, const struct sbx_unwind_rows *rows,
                                          struct sbx_rows_file_header *header_out);

/* Check a whole file in memory against `key`, and let rows_out point into it. The memory must be aligned for uint64_t.
 * Everything the walker relies on is checked (I1 to I3 of unwind_rows.c), because it reads these rows in signal
 * handlers. Returns 0; -ESTALE: another version, encoding, architecture or module; -EINVAL: damaged. rows_out->pages
 * stays NULL: the caller knows who owns the memory. */
SBX_MUST_CHECK int sbx_rows_file_check(const uint8_t *file, size_t bytes, const struct sbx_rows_key *key,
                                       struct sbx_unwind_rows *rows_out);

#endif
