/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - arbitrary source files, archives and maps, from which names are made. The first byte selects the runtime.
 *
 * Properties: the output is a map of names, line by line, and reading the same input again gives the same output. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "names_worker.h"
#include "provider_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char first[] = "stallbox-provider-map 1\tx\n", file[] = "a/b";
    struct sbx_name_list list = {0}, again = {0};
    if (bytes < 1) {
        return 0;
    }
    struct sbx_names_job job = {.runtime = (enum sbx_names_runtime)(data[0] % SBX_NAMES_RUNTIMES),
                                .file = {file, sizeof file - 1},
                                .text = {(const char *)data + 1, bytes - 1}};
    /* A script, and after a zero its source map; a class, and before it its mapping, which ends with three newlines. */
    const char *zero = job.runtime == SBX_NAMES_JAVASCRIPT ? memchr(job.text.at, '\0', job.text.bytes) : NULL;
    const char *ends = job.runtime == SBX_NAMES_JAVA ? memmem(job.text.at, job.text.bytes, "\n\n\n", 3) : NULL;
    if (ends != NULL) {
        job.map = (struct sbx_name_text){job.text.at, (size_t)(ends - job.text.at)};
        job.text = (struct sbx_name_text){ends + 3, (size_t)(job.text.at + job.text.bytes - ends) - 3};
    }
    if (zero != NULL) {
        job.map = (struct sbx_name_text){zero + 1, (size_t)(job.text.at + job.text.bytes - zero) - 1};
        job.text.bytes = (size_t)(zero - job.text.at);
    }
    struct sbx_names_reading reading = {.mapped = NULL};
    int result = sbx_names_read(&reading, &job, &list);
    MUST(sbx_names_read(&reading, &job, &again) == result);
    sbx_names_reading_finish(&reading);
    MUST(list.bytes == again.bytes && (list.bytes == 0 || memcmp(list.text, again.text, list.bytes) == 0));
    char *text = malloc(sizeof first + list.bytes);
    struct sbx_provider_map *map = sbx_provider_map_create();
    MUST(text != NULL && map != NULL);
    memcpy(text, first, sizeof first - 1);
    if (list.bytes != 0) {
        memcpy(text + sizeof first - 1, list.text, list.bytes);
    }
    MUST(sbx_provider_map_add(map, text, sizeof first - 1 + list.bytes) == (int)list.lines);
    sbx_provider_map_destroy(map);
    free(text);
    sbx_name_list_finish(&list);
    sbx_name_list_finish(&again);
    return 0;
}
