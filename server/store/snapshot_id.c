/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_id.c - hex in, hex out, and a stable 128-bit key. */
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

/* FNV-1a, 128 bits. Not a cryptographic hash: who could aim at a collision could as well send the very same verdict. */
static unsigned __int128 hash_text(unsigned __int128 hash, const char *text, size_t bytes)
{
    const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * prime;
    return (hash ^ 0xff) * prime; /* a byte no UTF-8 text has: "ab","c" differs from "a","bc" */
}

/* The length of a function's name without what the compiler appended to a copy of it. */
static size_t length_without_clone_suffix(const char *function)
{
    static const char *const suffixes[] = {".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."};
    size_t length = strlen(function);
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        const char *found = strstr(function, suffixes[i]);
        if (found && found != function && (size_t)(found - function) < length)
            length = (size_t)(found - function);
    }
    return length;
}

void sbx_issue_key(const char *cause, const char *function, const char *module, const char *app,
                   uint8_t key_out[SBX_ID_BYTES])
{
    unsigned __int128 hash = (unsigned __int128)0x6c62272e07bb0142ull << 64 | 0x62b821756295c58dull;
    hash = hash_text(hash, cause, strlen(cause));
    hash = hash_text(hash, function, length_without_clone_suffix(function));
    hash = hash_text(hash, module, strlen(module));
    hash = hash_text(hash, app, strlen(app));
    for (size_t i = 0; i < SBX_ID_BYTES; i++)
        key_out[i] = (uint8_t)(hash >> (8 * (SBX_ID_BYTES - 1 - i)));
}
