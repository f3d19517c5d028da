/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - what is in a payload, for a person who has to answer for it. */
#ifndef SBX_SHOW_H
#define SBX_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include "marks.h"

/* Print the payload in `path` to `out`: an envelope, or a raw snapshot, which is encoded in memory first, under the
 * default policy, so that what would leave can be seen before anything does. With `what_leaves` every field with its
 * meaning and its bytes, adding up to the total; else what it says, as tables. Both end with the redactions and the
 * privacy verdict. `colour`: with terminal escapes.
 *
 * Returns 0 when it was readable and the privacy check passed, else 1: then the reason is the verdict line on `out`,
 * or, when there was nothing to print, a line on stderr that names the file. */
SBX_MUST_CHECK int sbx_show(FILE *out, const char *path, bool what_leaves, bool colour);

#endif
