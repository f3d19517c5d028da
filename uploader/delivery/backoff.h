/* SPDX-License-Identifier: Apache-2.0 */
/* backoff.h - decodes the Retry-After header of a server. Pure. sbx_backoff_ms() is declared in deliver.h. */
#ifndef SBX_BACKOFF_H
#define SBX_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds that a Retry-After value asks for, at most a day. The value is seconds ("120") or an HTTP date (RFC
 * 9110, IMF-fixdate), which is compared with `now_s` (Unix time). The result is 0 for a value in the past, a negative
 * value, or one that is not understood. `value` is the header's text, NUL-terminated; surrounding blanks are
 * allowed. */
uint64_t sbx_retry_after_ms(const char *value, int64_t now_s);

/* Converts "Sun, 06 Nov 1994 08:49:37 GMT" to Unix time. Returns false for anything else; then nothing is set. */
bool sbx_http_date_s(const char *text, int64_t *at_s);

#endif
