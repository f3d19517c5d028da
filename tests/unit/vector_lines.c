/* SPDX-License-Identifier: Apache-2.0 */
/* vector_lines.c - reads lines of published test vectors. */
#include "vector_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

FILE *sbx_vector_open(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", VECTORS_FOLDER, name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "vectors: no %s\n", path);
        exit(1);
    }
    return file;
}

size_t sbx_vector_hex(const char *text, uint8_t *bytes, size_t room)
{
    size_t count = 0;
    while (count < room && isxdigit((unsigned char)text[2 * count]) && isxdigit((unsigned char)text[2 * count + 1])) {
        const char digits[3] = {text[2 * count], text[2 * count + 1], '\0'};
        bytes[count++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return count;
}

const char *sbx_vector_value(const char *line, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *found = strstr(line, key);
    if (found == NULL) {
        return NULL;
    }
    found += strlen(key);
    return *found == '"' ? found + 1 : found;
}

size_t sbx_vector_rfc(FILE *file, const char *name, uint8_t *bytes, size_t room)
{
    char line[256];
    size_t name_bytes = strlen(name), count = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, name_bytes) != 0 || line[name_bytes] != ':') {
            continue;
        }
        const char *at = line + name_bytes + 1;
        at += *at == ' ';
        count = sbx_vector_hex(at, bytes, room);
        /* The value continues on lines that contain only hex. */
        for (long before = ftell(file); fgets(line, sizeof line, file) != NULL; before = ftell(file)) {
            if (line[0] == '\n' || strspn(line, "0123456789abcdef") != strcspn(line, "\n")) {
                fseek(file, before, SEEK_SET);
                break;
            }
            count += sbx_vector_hex(line, bytes + count, room - count);
        }
        return count;
    }
    fprintf(stderr, "vectors: no %s\n", name);
    exit(1);
}
