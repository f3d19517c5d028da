/* SPDX-License-Identifier: Apache-2.0 */
/* backoff.h - what a server's Retry-After says. Pure; sbx_backoff_ms() is declared in deliver.h. */
#ifndef SBX_BACKOFF_H
#define SBX_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds a Retry-After value asks for, at most a day: seconds ("120"), or an HTTP date (RFC 9110, IMF-fixdate)
 * seen at `now_s` (Unix time). What is in the past, negative or not understood is 0: it asks for nothing. `value` is
 * the header's text, NUL-terminated, surrounding blanks allowed. */
uint64_t sbx_retry_after_ms(const char *value, int64_t now_s);

/* "Sun, 06 Nov 1994 08:49:37 GMT" as Unix time. False, and nothing set, for anything else. */
bool sbx_http_date_s(const char *text, int64_t *at_s);

#endif
