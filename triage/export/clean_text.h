/* SPDX-License-Identifier: Apache-2.0 */
/* clean_text.h - names fit to be written into other people's formats.
 *
 * Function names, module names and file names come from symbol files, which strangers may have uploaded: they may hold
 * control characters, broken UTF-8 or be very long. Every exporter writes them through here. */
#ifndef SBX_CLEAN_TEXT_H
#define SBX_CLEAN_TEXT_H

#include <stddef.h>

#include "stall.h"

enum {
    SBX_CLEAN_TEXT_BYTES = 1024
}; /* longer names are cut; C++ templates reach a few hundred */

/* Copy `text` (NULL: "") to `out`: valid UTF-8 passes, each control character and each byte that is no part of a valid
 * sequence becomes '?'; cut between characters when too long. Returns the length; `out` is NUL-terminated. */
size_t sbx_clean_text(const char *text, char *out, size_t out_bytes);

/* What a thread is called in every export: "main" for the main thread, else its pattern, else "thread N" (by ordinal)
 * when the payload has no name for it. An ordinal the stall does not have is "unknown thread". */
void sbx_thread_label(const struct sbx_stall *stall, uint32_t thread, char *out, size_t out_bytes);

#endif
