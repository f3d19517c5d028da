/* SPDX-License-Identifier: Apache-2.0 */
/* policy_values.c - numbers, times, hex and names of applications in the form that people write (policy_text.h). */
#include "policy_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    DAY_S = 86400
};

bool sbx_key_hex_read(const char *text, uint8_t *bytes_out, size_t bytes)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != 2 * bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        const char *high = strchr(digits, tolower((unsigned char)text[2 * i]));
        const char *low = strchr(digits, tolower((unsigned char)text[2 * i + 1]));
        if (high == NULL || low == NULL) {
            return false;
        }
        bytes_out[i] = (uint8_t)((high - digits) << 4 | (low - digits));
    }
    return true;
}

void sbx_key_hex_print(const uint8_t *bytes, size_t count, char *text_out)
{
    for (size_t i = 0; i < count; i++) {
        snprintf(text_out + 2 * i, 3, "%02x", bytes[i]);
    }
    text_out[2 * count] = '\0';
}

int sbx_app_id_of_name(const char *name, uint8_t id_out[SBX_APP_ID_BYTES])
{
    static const char domain[] = "stallbox-app"; /* with its NUL */
    uint8_t digest[SBX_DIGEST_BYTES];
    const struct sbx_digest_piece pieces[] = {{domain, sizeof domain}, {name, strlen(name)}};
    int result = sbx_digest(pieces, 2, digest);
    if (result == 0) {
        memcpy(id_out, digest, SBX_APP_ID_BYTES);
    }
    return result;
}

bool sbx_policy_number_read(const char *text, uint64_t *number_out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    *number_out = number;
    return *end == '\0' && errno == 0;
}

bool sbx_policy_distance_read(const char *text, uint64_t *seconds_out)
{
    char digits[24];
    size_t length = strlen(text);
    if (length < 3 || length >= sizeof digits || text[0] != '+') {
        return false;
    }
    memcpy(digits, text + 1, length - 2);
    digits[length - 2] = '\0';
    uint64_t unit = text[length - 1] == 'd' ? DAY_S : text[length - 1] == 'h' ? 3600 : text[length - 1] == 's' ? 1 : 0;
    if (unit == 0 || !sbx_policy_number_read(digits, seconds_out) || *seconds_out > UINT32_MAX) {
        return false;
    }
    *seconds_out *= unit;
    return true;
}

bool sbx_policy_time_read(const char *text, uint64_t now_s, uint64_t *time_out)
{
    struct tm date = {.tm_isdst = 0};
    uint64_t distance_s = 0;
    if (strncmp(text, "now", 3) == 0 && (text[3] == '\0' || sbx_policy_distance_read(text + 3, &distance_s))) {
        *time_out = now_s + distance_s;
        return true;
    }
    if (sbx_policy_number_read(text, time_out)) {
        return *time_out <= INT64_MAX;
    }
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &date);
    if (end == NULL) {
        memset(&date, 0, sizeof date);
        end = strptime(text, "%Y-%m-%d", &date);
    }
    if (end == NULL || *end != '\0' || date.tm_year < 70) {
        return false;
    }
    *time_out = (uint64_t)timegm(&date);
    return true;
}

void sbx_policy_time_print(uint64_t time_s, char text_out[32])
{
    struct tm date;
    time_t time = (time_t)time_s;
    if (time_s > UINT64_C(253402300799) || gmtime_r(&time, &date) == NULL ||
        strftime(text_out, 32, "%Y-%m-%dT%H:%M:%SZ", &date) == 0) {
        snprintf(text_out, 32, "%llu", (unsigned long long)time_s);
    }
}
