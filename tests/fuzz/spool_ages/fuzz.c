/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - SPOOL/.ages of any bytes: what is read is within its bounds, and is the same after it is printed and read
 * again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "spool_ages.h"

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t bytes)
{
    static struct sbx_spool_ages ages, again;
    static char printed[SBX_SPOOL_AGES_BYTES_MAX + 1];
    char *text = malloc(bytes + 1);
    require(text != NULL);
    if (bytes > 0) {
        memcpy(text, input, bytes);
    }
    text[bytes] = '\0';
    memset(&ages, 0, sizeof ages);
    memset(&again, 0, sizeof again);
    sbx_spool_ages_parse(text, &ages);
    free(text);
    require(ages.count <= SBX_SPOOL_AGES_MAX);
    for (size_t i = 0; i < ages.count; i++) {
        require(ages.kept[i].folder >= 0 && ages.kept[i].folder < 4);
        require(ages.kept[i].age_s <= SBX_SPOOL_HOURS_MAX * 3600u + 1);
        require(strlen(ages.kept[i].name) < SBX_SPOOL_AGE_NAME_BYTES);
    }
    size_t length = sbx_spool_ages_print(&ages, printed);
    require(length > 0 && length < sizeof printed);
    sbx_spool_ages_parse(printed, &again);
    require(again.count == ages.count && again.at.boot_ms == ages.at.boot_ms && again.at.wall_ms == ages.at.wall_ms);
    for (size_t i = 0; i < ages.count; i++) {
        require(strcmp(again.kept[i].name, ages.kept[i].name) == 0 && again.kept[i].age_s == ages.kept[i].age_s);
    }
    return 0;
}
