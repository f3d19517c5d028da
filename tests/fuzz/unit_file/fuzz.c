/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - unit files, and the interpretation of their settings. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "unit_plan.h"

static char *expand(const char *set)
{
    return strcmp(set, "@default") == 0 ? strdup("@default\n    exit\n    @more\n") : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct sbx_unit_wish wish = {.name = "fuzz",
                                              .root = "/nowhere",
                                              .command = "/usr/bin/stallbox",
                                              .library = "/usr/lib/libstallbox.so.0",
                                              .server = "http://127.0.0.1:1",
                                              .loosens = true,
                                              .expand = expand};
    struct sbx_unit_file unit = {0};
    struct sbx_unit_plan plan;
    char *copy = malloc(bytes + 1); /* exact size: the sanitizer sees a read past the end */
    if (copy != NULL) {
        copy = realloc(copy, bytes != 0 ? bytes : 1);
        memcpy(copy, data, bytes);
        if (sbx_unit_file_add(&unit, copy, bytes) == 0 && sbx_unit_plan_make(&unit, &wish, &plan) == 0) {
            sbx_unit_plan_free(&plan);
        }
        sbx_unit_file_free(&unit);
        free(copy);
    }
    return 0;
}
