/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - checks of token and host. */
#include "gate.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

enum {
    CREDENTIALS_BYTES_MAX = 512
};

static int base64_value(char digit)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = digit ? strchr(digits, digit) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Decode up to the padding. Returns the number of bytes, or 0 when the text is not base64 or is too long. */
static size_t decode_base64(const char *text, char *out, size_t out_bytes)
{
    uint32_t bits = 0;
    size_t bit_count = 0, used = 0;
    for (; *text && *text != '='; text++) {
        int value = base64_value(*text);
        if (value < 0 || used == out_bytes)
            return 0;
        bits = bits << 6 | (uint32_t)value;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[used++] = (char)(bits >> bit_count & 0xff);
        }
    }
    return used;
}

bool sbx_gate_token(const struct sbx_gate *gate, const char *authorization, struct sbx_token *token_out)
{
    char credentials[CREDENTIALS_BYTES_MAX];
    if (!authorization || !gate->tokens)
        return false;
    if (strncasecmp(authorization, "Bearer ", 7) == 0)
        return sbx_token_ring_find(gate->tokens, authorization + 7, strlen(authorization + 7), token_out);
    if (strncasecmp(authorization, "Basic ", 6) != 0)
        return false;
    size_t bytes = decode_base64(authorization + 6, credentials, sizeof(credentials));
    const char *colon = memchr(credentials, ':', bytes);
    bool is_found =
        colon && sbx_token_ring_find(gate->tokens, colon + 1, bytes - (size_t)(colon + 1 - credentials), token_out);
    explicit_bzero(credentials, sizeof(credentials));
    return is_found;
}

/* "127.0.0.1:8321", "localhost", "[::1]:8321". */
static bool names_loopback(const char *host)
{
    static const char *const names[] = {"localhost", "[::1]"};
    if (!host)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t bytes = strlen(names[i]);
        if (strncasecmp(host, names[i], bytes) == 0 && (host[bytes] == '\0' || host[bytes] == ':'))
            return true;
    }
    /* Only digits and dots may follow "127.": "127.evil.example" is an ordinary name. */
    size_t bytes = strspn(host, "0123456789.");
    return strncmp(host, "127.", 4) == 0 && (host[bytes] == '\0' || host[bytes] == ':');
}

/* Does a form come from one of our own pages? Then the host of its page is the host that it is sent to. Without tokens
 * that host must also be this machine, because any name can be made to resolve to this address. */
static bool is_own_page(bool has_tokens, const char *host, const char *origin)
{
    const char *name = strncmp(origin, "https://", 8) == 0  ? origin + 8
                       : strncmp(origin, "http://", 7) == 0 ? origin + 7
                                                            : "";
    return host && *name && strcasecmp(name, host) == 0 && (has_tokens || names_loopback(host));
}

enum sbx_entry sbx_gate_check(const struct sbx_gate *gate, unsigned rights, bool is_write,
                              const struct sbx_token *token, const char *host, const char *origin)
{
    unsigned given = token ? token->rights : 0;
    bool has_tokens = gate->tokens && sbx_token_ring_has_any(gate->tokens);
    /* When there are tokens for single applications, a local user is not allowed to see everything. */
    bool is_loopback = gate->is_loopback && !(has_tokens && sbx_token_ring_has_apps(gate->tokens));
    if (is_write && origin && !is_own_page(has_tokens, host, origin))
        return SBX_ENTRY_FROM_PAGE;
    if (given & rights)
        return SBX_ENTRY_ALLOWED;
    if (has_tokens && (is_write || !is_loopback))
        return given ? SBX_ENTRY_NO_RIGHT : SBX_ENTRY_NEEDS_TOKEN;
    if (is_loopback && !is_write && !names_loopback(host))
        return SBX_ENTRY_FOREIGN_HOST;
    return SBX_ENTRY_ALLOWED;
}
