/* SPDX-License-Identifier: Apache-2.0 */
/* recording_name.c - converts names to text and back. */
#include "recording_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording_format.h"

enum {
    SESSION_DIGITS = 32,
    SPOOL_DIGITS = 16
};

void sbx_recording_name_print(const struct sbx_recording_name *name, char text_out[SBX_RECORDING_NAME_BYTES])
{
    int used = snprintf(text_out, SBX_RECORDING_NAME_BYTES, "%u-", name->pid);
    for (unsigned i = 0; i < sizeof name->session_id; i++) {
        used += snprintf(text_out + used, SBX_RECORDING_NAME_BYTES - (size_t)used, "%02x", name->session_id[i]);
    }
    snprintf(text_out + used, SBX_RECORDING_NAME_BYTES - (size_t)used, "-%016llx" SBX_RECORDING_SUFFIX,
             (unsigned long long)name->spool);
}

/* Reads exactly `digits` lower-case hex digits into bytes. */
static bool read_hex(const char *text, unsigned digits, uint8_t *bytes_out)
{
    static const char all[] = "0123456789abcdef";
    for (unsigned i = 0; i < digits; i++) {
        const char *found = text[i] != 0 ? strchr(all, text[i]) : NULL;
        if (found == NULL) {
            return false;
        }
        bytes_out[i / 2] = (uint8_t)(bytes_out[i / 2] << 4 | (found - all));
    }
    return true;
}

bool sbx_recording_name_parse(const char *text, struct sbx_recording_name *name_out)
{
    uint8_t spool[SPOOL_DIGITS / 2] = {0};
    char *end;
    if (text[0] < '1' || text[0] > '9') {
        return false;
    }
    unsigned long long pid = strtoull(text, &end, 10);
    *name_out = (struct sbx_recording_name){.pid = (uint32_t)pid};
    if (pid > UINT32_MAX || *end != '-' ||
        strlen(end) != 2 + SESSION_DIGITS + SPOOL_DIGITS + sizeof SBX_RECORDING_SUFFIX - 1 ||
        !read_hex(end + 1, SESSION_DIGITS, name_out->session_id) || end[1 + SESSION_DIGITS] != '-' ||
        !read_hex(end + 2 + SESSION_DIGITS, SPOOL_DIGITS, spool) ||
        strcmp(end + 2 + SESSION_DIGITS + SPOOL_DIGITS, SBX_RECORDING_SUFFIX) != 0) {
        return false;
    }
    for (unsigned i = 0; i < sizeof spool; i++) {
        name_out->spool = name_out->spool << 8 | spool[i];
    }
    return true;
}

uint64_t sbx_spool_mark(const struct stat *spool)
{
    const uint64_t words[] = {(uint64_t)spool->st_dev, (uint64_t)spool->st_ino};
    uint64_t mark = UINT64_C(0xcbf29ce484222325);
    for (unsigned i = 0; i < 16; i++) {
        mark = (mark ^ (words[i / 8] >> i % 8 * 8 & 255)) * UINT64_C(0x100000001b3);
    }
    return mark != 0 ? mark : 1;
}
