/* SPDX-License-Identifier: Apache-2.0 */
/* clean_text.c - names that are fit to be written into formats of other projects. */
#include "clean_text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length of the valid UTF-8 sequence at `text` (shortest form, no surrogates, up to U+10FFFF); 0 if there is none.
 * Reads no further than the terminating NUL, which is never a continuation byte. */
static size_t sequence_length(const uint8_t *text)
{
    if (text[0] < 0x80) {
        return 1;
    }
    size_t length = text[0] >= 0xc2 && text[0] <= 0xdf   ? 2
                    : text[0] >= 0xe0 && text[0] <= 0xef ? 3
                    : text[0] >= 0xf0 && text[0] <= 0xf4 ? 4
                                                         : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool outside = (text[0] == 0xed && text[1] >= 0xa0) || (text[0] == 0xf4 && text[1] >= 0x90);
    bool noncharacter = text[0] == 0xef && text[1] == 0xbf && text[2] >= 0xbe; /* U+FFFE, U+FFFF: not XML characters */
    bool control = length == 2 && text[0] == 0xc2 && text[1] < 0xa0;           /* U+0080..U+009F */
    return overlong || outside || noncharacter || control ? 0 : length;
}

size_t sbx_clean_text(const char *text, char *out, size_t out_bytes)
{
    const uint8_t *from = (const uint8_t *)(text == NULL ? "" : text);
    size_t count = 0;
    while (*from != 0) {
        size_t length = sequence_length(from);
        bool replaced = length == 0 || (length == 1 && (*from < 0x20 || *from == 0x7f));
        if (replaced) {
            length = 1;
        }
        if (count + length >= out_bytes) {
            break;
        }
        if (replaced) {
            out[count] = '?';
        } else {
            memcpy(out + count, from, length);
        }
        count += length;
        from += length;
    }
    out[count] = '\0';
    return count;
}

void sbx_thread_label(const struct sbx_stall *stall, uint32_t thread, char *out, size_t out_bytes)
{
    if (thread >= stall->thread_count) {
        snprintf(out, out_bytes, "unknown thread");
    } else if (stall->threads[thread].process != 0) {
        snprintf(out, out_bytes, "process %u: %s", stall->threads[thread].process, stall->threads[thread].name);
    } else if (stall->threads[thread].is_main) {
        snprintf(out, out_bytes, "main");
    } else if (strcmp(stall->threads[thread].name, "other") == 0) {
        snprintf(out, out_bytes, "thread %u", thread);
    } else {
        sbx_clean_text(stall->threads[thread].name, out, out_bytes);
    }
}
