/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - what of a stranger's text may be shown.
 *
 * Names reach the pages from symbol files, which are anyone's bytes: invalid UTF-8, control characters and the marks
 * that reorder text (so that a name reads as another) are replaced, never passed on. */
#ifndef SBX_UTF8_H
#define SBX_UTF8_H

#include <stddef.h>

#define SBX_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Look at the character at `text` (of which `bytes` > 0 remain). Returns its length when it may be shown as it is, or 0
 * when it is to be replaced; `skip_out` is then how many bytes the replaced thing takes. */
size_t sbx_utf8_showable(const char *text, size_t bytes, size_t *skip_out);

#endif
