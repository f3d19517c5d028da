/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame_copy.h - a copy of a loaded module's unwind data, so that compiling it needs nothing of the module.
 *
 * The copy is taken through a reader that fails where a load would fault. So the caller need not keep the module from
 * being unloaded meanwhile: he looks afterwards whether it was still there, and throws the copy away if not. */
#ifndef SBX_EH_FRAME_COPY_H
#define SBX_EH_FRAME_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "unwind_rows.h"

/* Where a module's unwind data lies, in its own numbering, from its program headers. */
struct sbx_eh_frame_place {
    uint64_t eh_frame_hdr_address, eh_frame_hdr_bytes; /* PT_GNU_EH_FRAME */
    uint64_t image_address, image_bytes;               /* the segment that holds it, and .eh_frame */
    uint64_t text_begin, text_end;
    uint64_t text_bytes; /* of text_begin's segment that are readable: stubs without unwind data are looked for there */
};

/* Put the `bytes` at `address` of the module into `to`: all of them, or a negative errno. */
typedef int sbx_module_read(void *context, uint64_t address, void *to, size_t bytes);

struct sbx_eh_frame_copy {
    struct sbx_unwind_source source; /* for sbx_unwind_rows_build(); points into the copy */
    void *header_pages, *frame_pages, *text_pages;
    size_t header_bytes, frame_bytes, text_bytes;
};

/* Copy .eh_frame_hdr, and of .eh_frame as much as its table says there is. Returns 0: release it; -ENOENT: no .eh_frame;
 * -EINVAL: damaged; -ENOMEM; or what `read` said. */
SBX_MUST_CHECK int sbx_eh_frame_copy_take(struct sbx_eh_frame_copy *copy_out, const struct sbx_eh_frame_place *place,
                                          sbx_module_read *read, void *context);
void sbx_eh_frame_copy_release(struct sbx_eh_frame_copy *copy);

#endif
