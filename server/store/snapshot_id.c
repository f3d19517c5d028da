/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_id.c - hex in, hex out. */
#include "snapshot_id.h"

#include <string.h>

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool sbx_id_parse(const char *text, size_t bytes, uint8_t id_out[SBX_ID_BYTES])
{
    if (bytes != 2 * SBX_ID_BYTES)
        return false;
    for (size_t i = 0; i < SBX_ID_BYTES; i++) {
        int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        id_out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

void sbx_hex_print(const uint8_t *bytes, size_t count, char *text_out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        text_out[2 * i] = digits[bytes[i] >> 4];
        text_out[2 * i + 1] = digits[bytes[i] & 15];
    }
    text_out[2 * count] = '\0';
}

void sbx_id_print(const uint8_t id[SBX_ID_BYTES], char text_out[SBX_ID_TEXT_BYTES])
{
    sbx_hex_print(id, SBX_ID_BYTES, text_out);
}

size_t sbx_hex_read(const char *text, uint8_t *bytes_out, size_t room)
{
    size_t count = strlen(text) / 2;
    if (strlen(text) % 2 != 0 || count > room)
        return 0;
    for (size_t i = 0; i < count; i++) {
        int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return 0;
        bytes_out[i] = (uint8_t)(high << 4 | low);
    }
    return count;
}
