/* SPDX-License-Identifier: Apache-2.0 */
/* eh_frame_copy.h - a copy of a loaded module's unwind data, so that the compilation does not read the module.
 *
 * The copy is read through a function that returns an error where a plain load would fault. So the caller need not keep
 * the module loaded meanwhile. The caller checks afterwards that the module was still loaded, and discards the copy if
 * it was not. */
#ifndef SBX_EH_FRAME_COPY_H
#define SBX_EH_FRAME_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "marks.h"
#include "unwind_rows.h"

/* Where a module's unwind data lies, in the module's own numbering. From its program headers. */
struct sbx_eh_frame_place {
    uint64_t eh_frame_hdr_address, eh_frame_hdr_bytes; /* PT_GNU_EH_FRAME */
    uint64_t image_address, image_bytes;               /* the segment that holds PT_GNU_EH_FRAME, and .eh_frame */
    uint64_t text_begin, text_end;
    uint64_t text_bytes; /* readable bytes from text_begin on; stubs without unwind data are searched for there */
};

/* Copy the `bytes` at `address` of the module to `to`. Returns 0 when all were copied, or a negative errno. */
typedef int sbx_module_read(void *context, uint64_t address, void *to, size_t bytes);

struct sbx_eh_frame_copy {
    struct sbx_unwind_source source; /* for sbx_unwind_rows_build(); points into the copy */
    void *header_pages, *frame_pages, *text_pages;
    size_t header_bytes, frame_bytes, text_bytes;
};

/* Copy .eh_frame_hdr, and the part of .eh_frame that its table covers. Returns 0: the caller releases the copy;
 * -ENOENT: no .eh_frame; -EINVAL: damaged; -ENOMEM; or the error of `read`. */
SBX_MUST_CHECK int sbx_eh_frame_copy_take(struct sbx_eh_frame_copy *copy_out, const struct sbx_eh_frame_place *place,
                                          sbx_module_read *read, void *context);
void sbx_eh_frame_copy_release(struct sbx_eh_frame_copy *copy);

#endif
