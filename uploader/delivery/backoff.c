/* SPDX-License-Identifier: Apache-2.0 */
/* backoff.c - how long to wait. Pure functions. */
#include "backoff.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "deliver.h"

static const uint64_t first_ms = 1000;
static const uint64_t longest_ms = 600000;
static const int64_t day_s = 86400;

uint64_t sbx_backoff_ms(uint32_t attempt, uint64_t server_ms, uint64_t random)
{
    uint64_t span_ms = longest_ms;
    if (attempt <= 10) { /* 1 s * 2^9 is 512 s; the next step exceeds the longest wait */
        span_ms = first_ms << (attempt == 0 ? 0 : attempt - 1);
    }
    if (span_ms > longest_ms) {
        span_ms = longest_ms;
    }
    /* The wait that the server asked for is spread, too, over half of it in addition. Otherwise thousands of machines
     * that are told to come back after one second would come back in the same second. */
    uint64_t spread_ms = server_ms / 2 < longest_ms ? server_ms / 2 : longest_ms;
    span_ms = server_ms != 0 && spread_ms > span_ms ? spread_ms : span_ms;
    /* Full jitter: a random point in the span, so that a fleet that failed together does not come back together. The
     * span is multiplied by the upper half of the random number. A modulo would favour short waits. */
    return server_ms + (((random >> 32) * (span_ms + 1)) >> 32);
}

/* Not strptime(), because month names depend on the host's locale. */
bool sbx_http_date_s(const char *text, int64_t *at_s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char weekday[4], month[4];
    struct tm when = {.tm_sec = 0};
    int end = 0;
    if (sscanf(text, "%3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", weekday, &when.tm_mday, month, &when.tm_year,
               &when.tm_hour, &when.tm_min, &when.tm_sec, &end) != 7 ||
        end == 0) {
        return false;
    }
    const char *found = strstr(months, month);
    if (strlen(month) != 3 || found == NULL || (found - months) % 3 != 0 || when.tm_year < 1970) {
        return false;
    }
    when.tm_mon = (int)(found - months) / 3;
    when.tm_year -= 1900;
    *at_s = (int64_t)timegm(&when);
    return true;
}

uint64_t sbx_retry_after_ms(const char *value, int64_t now_s)
{
    value += strspn(value, " \t");
    int64_t wait_s = 0;
    size_t digits = strspn(value, "0123456789");
    if (digits != 0) {
        if (value[digits + strspn(value + digits, " \t\r\n")] != '\0') {
            return 0;
        }
        for (size_t i = 0; i < digits && wait_s < day_s; i++) {
            wait_s = wait_s * 10 + (value[i] - '0');
        }
    } else {
        int64_t at_s;
        if (!sbx_http_date_s(value, &at_s) || at_s <= now_s) {
            return 0;
        }
        wait_s = at_s - now_s;
    }
    return (uint64_t)(wait_s < day_s ? wait_s : day_s) * 1000u;
}
