/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - files with names of runtimes' functions, which come from outside.
 *
 * Properties: a found name was asked for, belongs to a runtime that the file named, and has no control characters in
 * its strings. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "provider_map.h"

static void must_be_clean(const char *text)
{
    for (; *text != '\0'; text++) {
        MUST((unsigned char)*text >= 0x20 && *text != 0x7f);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sbx_provider_map *map = sbx_provider_map_create();
    MUST(map != NULL);
    /* In two parts as two files, and once more as a whole. The parts are mostly invalid. */
    (void)sbx_provider_map_add(map, (const char *)data, bytes / 2);
    (void)sbx_provider_map_add(map, (const char *)data + bytes / 2, bytes - bytes / 2);
    int added = sbx_provider_map_add(map, (const char *)data, bytes);
    MUST(added <= (int)(bytes / 21)); /* a line has an id, three tabs, a digit and a letter */
    const uint64_t lua = sbx_provider_number("lua");
    static const uint64_t ids[] = {1, 0xff, UINT64_C(0xd1450bc5fa9af7e6), UINT64_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const struct sbx_provider_function *found = sbx_provider_map_find(map, lua, ids[i]);
        if (found != NULL) {
            MUST(found->provider == lua && found->id == ids[i] && sbx_provider_map_name(map, lua) != NULL);
            must_be_clean(found->file);
            must_be_clean(found->function);
        }
    }
    sbx_provider_map_destroy(map);
    return 0;
}
