/* SPDX-License-Identifier: Apache-2.0 */
/* java_name.c - a method's readable name, and the id for it. */
#include "java_name.h"

#include <string.h>

static const uint64_t FNV_BASIS = UINT64_C(0xcbf29ce484222325);
static const uint64_t FNV_PRIME = UINT64_C(0x100000001b3);

enum {
    NAME_BYTES_MAX = 4096, /* bytes that are read of one name */
    REPLACEMENT = 0xfffd
};

/* One character, in UTF-8. */
static void put(struct sbx_java_text *text, uint32_t character)
{
    char bytes[4];
    uint32_t count = 0;
    if (character < 0x80) {
        bytes[count++] = (char)(character < 0x20 || character == 0x7f ? '?' : (int)character);
    } else if (character < 0x800) {
        bytes[count++] = (char)(0xc0 | character >> 6);
        bytes[count++] = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        bytes[count++] = (char)(0xe0 | character >> 12);
        bytes[count++] = (char)(0x80 | (character >> 6 & 0x3f));
        bytes[count++] = (char)(0x80 | (character & 0x3f));
    } else {
        bytes[count++] = (char)(0xf0 | character >> 18);
        bytes[count++] = (char)(0x80 | (character >> 12 & 0x3f));
        bytes[count++] = (char)(0x80 | (character >> 6 & 0x3f));
        bytes[count++] = (char)(0x80 | (character & 0x3f));
    }
    for (uint32_t i = 0; i < count; i++) {
        text->hash = (text->hash ^ (uint8_t)bytes[i]) * FNV_PRIME;
    }
    if (text->is_full || text->max - text->bytes < count) {
        text->is_full = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        text->to[text->bytes++] = bytes[i];
    }
}

static void put_all(struct sbx_java_text *text, const char *ascii)
{
    for (; *ascii != '\0'; ascii++) {
        put(text, (uint8_t)*ascii);
    }
}

/* Returns one UTF-16 unit, coded in one to three bytes. *bytes moves on. */
static uint32_t next_unit(struct sbx_vm_bytes *bytes, int first)
{
    uint32_t more = first < 0x80 ? 0 : (first & 0xe0) == 0xc0 ? 1 : (first & 0xf0) == 0xe0 ? 2 : 3;
    uint32_t unit = more == 0 ? (uint32_t)first : (uint32_t)first & (more == 1 ? 0x1f : 0xf);
    if (more == 3) {
        return REPLACEMENT; /* Java's encoding has no longer sequences */
    }
    for (; more > 0; more--) {
        struct sbx_vm_bytes ahead = *bytes;
        int byte = sbx_vm_next_byte(&ahead);
        if (byte < 0 || (byte & 0xc0) != 0x80) {
            return REPLACEMENT;
        }
        *bytes = ahead;
        unit = unit << 6 | ((uint32_t)byte & 0x3f);
    }
    return unit;
}

/* Returns the next character, of one or two units; -1 at the end. */
static int32_t next_character(struct sbx_vm_bytes *bytes)
{
    int first = sbx_vm_next_byte(bytes);
    if (first < 0) {
        return -1;
    }
    uint32_t unit = next_unit(bytes, first);
    if (unit < 0xd800 || unit > 0xdfff) {
        return (int32_t)unit;
    }
    struct sbx_vm_bytes ahead = *bytes;
    int second = unit < 0xdc00 ? sbx_vm_next_byte(&ahead) : -1;
    uint32_t low = second < 0 ? 0 : next_unit(&ahead, second);
    if (low < 0xdc00 || low > 0xdfff) {
        return REPLACEMENT; /* half of a surrogate pair */
    }
    *bytes = ahead;
    return (int32_t)(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
}

/* The last eight characters, as a number. */
static uint64_t word_of(const char *text)
{
    uint64_t word = 0;
    for (; *text != '\0'; text++) {
        word = word << 8 | (uint8_t)*text;
    }
    return word;
}

/* Does a part that differs from run to run begin with `character`? */
static bool is_made_up(uint64_t before, int32_t character, struct sbx_vm_bytes rest)
{
    if (before == word_of("$$Lambda")) {
        return true;
    }
    bool is_digit = character >= '0' && character <= '9';
    if (is_digit && (before == word_of("Accessor") || (before & UINT64_C(0xffffffffffff)) == word_of("$Proxy"))) {
        return true;
    }
    return (character == '+' || character == '/') && sbx_vm_next_byte(&rest) == '0' && sbx_vm_next_byte(&rest) == 'x';
}

SBX_SIGNAL_SAFE void sbx_java_text_append(struct sbx_java_text *text, struct sbx_vm_bytes name, bool is_class)
{
    uint64_t before = 0;
    if (name.left > NAME_BYTES_MAX) {
        name.left = NAME_BYTES_MAX;
    }
    for (int32_t character = next_character(&name); character >= 0; character = next_character(&name)) {
        if (is_class && is_made_up(before, character, name)) {
            break;
        }
        before = before << 8 | (uint64_t)(character < 0x80 ? character : 0);
        put(text, is_class && character == '/' ? '.' : (uint32_t)character);
    }
}

static void put_number(struct sbx_java_text *text, uint32_t number)
{
    char digits[11];
    uint32_t at = sizeof digits - 1;
    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    put_all(text, digits + at);
}

SBX_SIGNAL_SAFE void sbx_java_name_make(struct sbx_java_name *name_out, const struct sbx_method *method,
                                        const struct sbx_vm_layout *layout)
{
    name_out->line = sbx_method_line(method, layout, 0);
    struct sbx_java_text text = {.hash = FNV_BASIS, .to = name_out->file, .max = SBX_JAVA_FILE_BYTES};
    sbx_java_text_append(&text, sbx_symbol_bytes(layout, sbx_method_source(method, layout)), false);
    name_out->file_bytes = text.bytes;
    text.is_full = true; /* only for the hash */
    put_all(&text, ":");
    put_number(&text, name_out->line);
    put_all(&text, ":");
    text = (struct sbx_java_text){.hash = text.hash, .to = name_out->function, .max = SBX_JAVA_FUNCTION_BYTES};
    sbx_java_text_append(&text, sbx_symbol_bytes(layout, method->holder_name), true);
    put_all(&text, ".");
    sbx_java_text_append(&text, sbx_symbol_bytes(layout, method->name), false);
    name_out->function_bytes = text.bytes;
    name_out->id = text.hash == 0 ? 1 : text.hash;
}
