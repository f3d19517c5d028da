/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any bytes as a line of tokens: an accepted line is the same after it is printed and read again, and has a
 * right and a digest. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "token_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_token token, again;
    char line[SBX_TOKEN_LINE_BYTES];
    if (sbx_token_line_read((const char *)data, bytes, &token) != NULL)
        return 0;
    sbx_token_line_print(&token, line);
    if (token.rights == 0 || strlen(token.id) != SBX_TOKEN_ID_TEXT - 1 ||
        sbx_token_line_read(line, strlen(line), &again) != NULL || memcmp(&token, &again, sizeof(token)) != 0)
        abort();
    return 0;
}
