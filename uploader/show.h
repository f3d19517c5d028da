/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - the fields of a payload, for a privacy review. */
#ifndef SBX_SHOW_H
#define SBX_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "marks.h"

/* Opens a sealed envelope, for an owner of the key: the code for that is the server's, and comes from outside. Returns 0
 * and malloc'ed bytes of the plain one (given: free), or -errno with `why`. */
struct sbx_show_opener {
    int (*open)(void *context, const uint8_t *envelope, size_t bytes, uint8_t **plain_out, size_t *plain_bytes_out,
                char *why, size_t why_bytes);
    void *context;
};

/* Print the payload in `path` to `out`: an envelope, or a raw snapshot, which is encoded in memory first, under the
 * default policy, so that what would leave can be seen before anything does. With `what_leaves` every field with its
 * meaning and its bytes, adding up to the total; else what it says, as tables. Both end with the redactions and the
 * privacy verdict. `colour`: with terminal escapes. Of a sealed payload that `opener` (NULL: none) does not open, only
 * the envelope is printed: that is no verdict, and returns 1.
 *
 * Returns 0 when it was readable and the privacy check passed, else 1: then the reason is the verdict line on `out`,
 * or, when there was nothing to print, a line on stderr that names the file. */
SBX_MUST_CHECK int sbx_show(FILE *out, const char *path, const struct sbx_show_opener *opener, bool what_leaves,
                            bool colour);

#endif
