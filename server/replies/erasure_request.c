/* SPDX-License-Identifier: Apache-2.0 */
/* erasure_request.c - reads lines of hex. */
#include "erasure_request.h"

#include <stdbool.h>

enum {
    LINE = 2 * SBX_ERASURE_PROOF_BYTES + 1
};

static int hex_digit(char digit)
{
    return digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* One line: 64 hex digits and a newline. */
static bool read_proof(const char *line, uint8_t proof_out[SBX_ERASURE_PROOF_BYTES])
{
    for (size_t i = 0; i < SBX_ERASURE_PROOF_BYTES; i++) {
        int high = hex_digit(line[2 * i]), low = hex_digit(line[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        proof_out[i] = (uint8_t)(high << 4 | low);
    }
    return line[LINE - 1] == '\n';
}

size_t sbx_erasure_request_read(const char *body, size_t bytes,
                                uint8_t proofs_out[SBX_ERASURES_MAX][SBX_ERASURE_PROOF_BYTES])
{
    size_t count = bytes / LINE;
    if (count == 0 || count > SBX_ERASURES_MAX || bytes != count * LINE)
        return 0;
    for (size_t i = 0; i < count; i++)
        if (!read_proof(body + i * LINE, proofs_out[i]))
            return 0;
    return count;
}
