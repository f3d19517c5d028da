/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - any text as a line of the audit log: a value that is found is a complete part of its line, and never beyond
 * it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const keys[] = {"id", "sha256", "answer", "why", ""};
    static const size_t rooms[] = {1, 2, 17, 320};
    char *line = malloc(bytes + 1);
    if (line == NULL) {
        return 0;
    }
    memcpy(line, data, bytes);
    line[bytes] = '\0';
    size_t length = strcspn(line, "\n");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        for (size_t k = 0; k < sizeof rooms / sizeof rooms[0]; k++) {
            char value[320];
            memset(value, 'x', sizeof value);
            sbx_audit_value(line, keys[i], value, rooms[k]);
            size_t value_bytes = strnlen(value, rooms[k]);
            if (value_bytes == rooms[k] || strchr(value, '\n') != NULL ||
                (value_bytes != 0 && memmem(line, length, value, value_bytes) == NULL)) {
                abort();
            }
        }
    }
    free(line);
    return 0;
}
