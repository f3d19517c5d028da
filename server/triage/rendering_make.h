/* SPDX-License-Identifier: Apache-2.0 */
/* rendering_make.h - one rendering of a report, in bounded memory. */
#ifndef SBX_RENDERING_MAKE_H
#define SBX_RENDERING_MAKE_H

#include "byte_buffer.h"
#include "renderings.h"
#include "report.h"

/* Append a rendering to `body`, which is empty. Returns 0; -EFBIG when it, or a picture in it, has more than
 * `bytes_max` bytes; or -ENOMEM. */
int sbx_rendering_make(const struct sbx_report *report, enum sbx_rendering kind, size_t bytes_max,
                       struct sbx_byte_buffer *body);

#endif
