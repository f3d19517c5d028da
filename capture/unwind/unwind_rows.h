/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_rows.h - a module's .eh_frame, compiled once into sorted (offset, rule) rows.
 *
 * Built off the hot path from the loaded image, and read by the walker in hooks and handlers. A row says how to get
 * from a frame to its caller. It holds for all code from its offset up to the next row's. 99.95 % of the rows of a
 * Debian installation fit one 32-bit rule. A few special rules cover PLT stubs, realigned frames and signal frames.
 * Everything else is SBX_RULE_UNSUPPORTED: the walk ends there and counts it, and never guesses. */
#ifndef SBX_UNWIND_ROWS_H
#define SBX_UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"

/* The unwind data of a loaded or in-memory ELF image. All pointers are borrowed for the time of the call. */
struct sbx_unwind_source {
    const uint8_t *eh_frame_hdr; /* PT_GNU_EH_FRAME; NULL when absent */
    size_t eh_frame_hdr_bytes;
    uint64_t eh_frame_hdr_address; /* its address in the module's own numbering (file-relative virtual address) */
    const uint8_t *eh_frame; /* start of .eh_frame; NULL: the builder finds it through the header (eh_frame_ptr) */
    size_t eh_frame_bytes;   /* upper bound of readable bytes from eh_frame on: the end of its segment */
    uint64_t eh_frame_address;
    const uint8_t *image; /* readable bytes of the segment that holds both; the builder finds eh_frame there */
    size_t image_bytes;
    uint64_t image_address;
    const uint8_t *text; /* the code itself, searched for stubs without unwind data; NULL: it cannot be read */
    size_t text_bytes;   /* readable bytes from `text` on */
    uint64_t text_address;
    uint64_t text_begin, text_end; /* executable range in the same numbering; rows outside of it are refused */
};

enum {
    SBX_ROWS_BUCKET_SHIFT = 12
}; /* a bucket is 4 KiB of code */

/* The three arrays are one block of memory, in the order buckets, offsets, rules. The block is sealed pages
 * (sealed_pages.h), of the builder or of a loaded file of the cache (rows_file.h). */
struct sbx_unwind_rows {
    const uint32_t *offsets; /* sorted; address in the module's numbering minus `base` */
    const uint32_t *rules;
    uint32_t count;
    uint64_t base;           /* subtracted from addresses; offsets have 32 bits, so larger modules are refused */
    const uint32_t *buckets; /* first row of each 4 KiB of code: lookups search one bucket */
    uint32_t bucket_count;
    void *pages; /* sbx_unwind_rows_release() unmaps these; always mapped, never malloc'ed */
    size_t pages_bytes;
};

/* Compile. Memory comes from mmap, not malloc, because this runs inside the application. Returns 0, -ENOENT (no unwind
 * data), -EINVAL (damaged beyond use), -ENOMEM, -E2BIG. Single damaged entries are skipped and counted in
 * *skipped_out. */
SBX_MUST_CHECK int sbx_unwind_rows_build(const struct sbx_unwind_source *source, struct sbx_unwind_rows *rows_out,
                                         uint32_t *skipped_out);
void sbx_unwind_rows_release(struct sbx_unwind_rows *rows);

/* The rule for an address in the module's numbering, SBX_RULE_NONE when no row covers it. */
SBX_SIGNAL_SAFE uint32_t sbx_unwind_rows_find(const struct sbx_unwind_rows *rows, uint64_t address);

#endif
