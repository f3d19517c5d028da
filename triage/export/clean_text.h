/* SPDX-License-Identifier: Apache-2.0 */
/* clean_text.h - names that are fit to be written into formats of other projects.
 *
 * Function names, module names and file names come from symbol files that strangers may have uploaded. They may contain
 * control characters or broken UTF-8, or be very long. Every exporter writes them through this module. */
#ifndef SBX_CLEAN_TEXT_H
#define SBX_CLEAN_TEXT_H

#include <stddef.h>

#include "stall.h"

enum {
    SBX_CLEAN_TEXT_BYTES = 1024
}; /* longer names are cut; C++ templates reach a few hundred */

/* Copy `text` (NULL: "") to `out`. Valid UTF-8 is kept. Each control character, and each byte outside of a valid
 * sequence, becomes '?'. A text that is too long is cut between characters. Returns the length; `out` is
 * NUL-terminated. */
size_t sbx_clean_text(const char *text, char *out, size_t out_bytes);

/* The name of a thread in every export: "main" for the main thread, else its pattern, or "thread N" (by ordinal) if the
 * payload has no name for it. "unknown thread" for an ordinal that the stall does not have. */
void sbx_thread_label(const struct sbx_stall *stall, uint32_t thread, char *out, size_t out_bytes);

#endif
