/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - the fields of a payload, for a privacy review. */
#ifndef SBX_SHOW_H
#define SBX_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "marks.h"

/* Opens a sealed envelope for an owner of the key. The code for this is in the server, and is passed in. Returns 0 and
 * malloc'ed bytes of the plain envelope (given: free), or -errno with `why`. */
struct sbx_show_opener {
    int (*open)(void *context, const uint8_t *envelope, size_t bytes, uint8_t **plain_out, size_t *plain_bytes_out,
                char *why, size_t why_bytes);
    void *context;
};

/* Print the payload in `path` to `out`. The file is an envelope or a raw snapshot. A raw snapshot is first encoded in
 * memory under the default policy, so that a person can see what would be sent before anything is sent. With
 * `what_leaves`, every field is printed with its meaning and its bytes, which add up to the total. Otherwise the
 * content is printed as tables. Both end with the redactions and the privacy verdict. `colour`: with terminal escapes.
 * If `opener` (NULL: none) does not open a sealed payload, only the envelope is printed. This is no verdict, and
 * returns 1.
 *
 * Returns 0 if the file was readable and the privacy check passed, else 1. Then the reason is the verdict line on
 * `out`, or, if there was nothing to print, a line on stderr that names the file. */
SBX_MUST_CHECK int sbx_show(FILE *out, const char *path, const struct sbx_show_opener *opener, bool what_leaves,
                            bool colour);

#endif
