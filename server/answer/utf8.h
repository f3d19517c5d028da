/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - which characters of untrusted text may be shown.
 *
 * Names reach the pages from symbol files, which are untrusted. Invalid UTF-8, control characters and the characters
 * that reorder text (so that one name looks like another) are always replaced. */
#ifndef SBX_UTF8_H
#define SBX_UTF8_H

#include <stddef.h>

#define SBX_UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Look at the character at `text` (of which `bytes` > 0 remain). Returns its length when it may be shown, or 0 when it
 * must be replaced. `skip_out` is then the number of bytes to replace. */
size_t sbx_utf8_showable(const char *text, size_t bytes, size_t *skip_out);

#endif
