/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - decodes one character at a time, and finds the ones that must be replaced. */
#include "utf8.h"

#include <stdbool.h>
#include <stdint.h>

/* Control characters (including tab and newline, which are never part of a name), surrogates, and characters that
 * change the order or the place of the following text: embeddings, overrides, isolates, line and paragraph separators,
 * the byte order mark. */
static bool is_harmful(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || (character >= 0xd800 && character < 0xe000) ||
           character == 0x061c || character == 0x200e || character == 0x200f ||
           (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069) ||
           character == 0xfeff || character > 0x10ffff;
}

size_t sbx_utf8_showable(const char *text, size_t bytes, size_t *skip_out)
{
    const unsigned char *byte = (const unsigned char *)text;
    /* smallest character of each length; a longer form of a smaller one is overlong */
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = byte[0] < 0x80 ? 1 : byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    uint32_t character = length == 1 ? byte[0] : byte[0] & (0xffu >> (length + 1));

    *skip_out = 1;
    if ((byte[0] >= 0x80 && byte[0] < 0xc2) || byte[0] > 0xf4 || length > bytes)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        character = character << 6 | (byte[i] & 0x3f);
    }
    *skip_out = length;
    return character < smallest[length] || is_harmful(character) ? 0 : length;
}
