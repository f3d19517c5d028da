/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - the text of a policy, as people write it.
 *
 * Properties: a text is accepted, or refused with a reason. An accepted text gives a payload that the payload reader
 * accepts, or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "policy_text.h"

static void check_words(const char *text)
{
    uint64_t number;
    char printed[32];
    uint8_t bytes[32];
    (void)sbx_policy_number_read(text, &number);
    (void)sbx_policy_distance_read(text, &number);
    (void)sbx_key_hex_read(text, bytes, sizeof bytes);
    if (sbx_policy_time_read(text, 1700000000, &number)) {
        sbx_policy_time_print(number, printed);
        MUST(memchr(printed, '\0', sizeof printed) != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct sbx_policy_draft draft;
    static uint8_t payload[1 << 16];
    char why[300] = "", *text = malloc(bytes + 1);
    MUST(text != NULL);
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = '\0';
    check_words(text);
    /* '/' would name files of this machine, which is not tested here: a key's file is one line of hex. */
    if (strchr(text, '/') == NULL) {
        if (sbx_policy_text_read(text, "text", "/nonexistent/", 1700000000, &draft, why, sizeof why) == 0) {
            size_t count = sbx_policy_draft_encode(&draft, payload, sizeof payload);
            MUST(count <= sizeof payload);
        } else {
            MUST(why[0] != '\0');
        }
    }
    free(text);
    return 0;
}
