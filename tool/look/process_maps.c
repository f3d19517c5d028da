/* SPDX-License-Identifier: Apache-2.0 */
/* process_maps.c - lines of proc_pid_maps(5). */
#include "process_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proc_file.h"

/* One line, without its end. */
static bool parse_line(char *line, struct sbx_mapping *mapping_out)
{
    char permissions[5] = "";
    unsigned major_number, minor_number;
    int path_at = 0;
    memset(mapping_out, 0, sizeof *mapping_out);
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping_out->begin,
               &mapping_out->end, permissions, &mapping_out->offset, &major_number, &minor_number, &mapping_out->inode,
               &path_at) < 7 ||
        mapping_out->begin >= mapping_out->end) {
        return false;
    }
    mapping_out->device = (uint64_t)major_number << 32 | minor_number;
    mapping_out->is_readable = permissions[0] == 'r';
    mapping_out->is_executable = permissions[2] == 'x';
    mapping_out->path = path_at > 0 ? line + path_at : line + strlen(line);
    return true;
}

int sbx_process_maps_parse(char *text, struct sbx_process_maps *maps_out)
{
    size_t lines = 1;
    for (const char *at = text; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    *maps_out = (struct sbx_process_maps){.mappings = calloc(lines, sizeof *maps_out->mappings), .text = text};
    if (maps_out->mappings == NULL) {
        free(text);
        maps_out->text = NULL;
        return -ENOMEM;
    }
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        struct sbx_mapping *mapping = &maps_out->mappings[maps_out->count];
        const struct sbx_mapping *before = maps_out->count > 0 ? mapping - 1 : NULL;
        /* The file is read in parts while the process runs. A line with a lower address was read before. */
        if (parse_line(line, mapping) && (before == NULL || mapping->begin >= before->end)) {
            maps_out->count++;
        }
    }
    return 0;
}

int sbx_process_maps_read(pid_t pid, struct sbx_process_maps *maps_out)
{
    char *text = NULL;
    memset(maps_out, 0, sizeof *maps_out);
    int result = sbx_proc_file_read_whole(&text, "/proc/%d/maps", (int)pid);
    return result < 0 ? result : sbx_process_maps_parse(text, maps_out);
}

void sbx_process_maps_release(struct sbx_process_maps *maps)
{
    free(maps->mappings);
    free(maps->text);
    memset(maps, 0, sizeof *maps);
}

const struct sbx_mapping *sbx_process_maps_find(const struct sbx_process_maps *maps, uint64_t address)
{
    size_t low = 0, high = maps->count;
    while (low < high) { /* find the first mapping after the address */
        size_t middle = low + (high - low) / 2;
        if (maps->mappings[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && address < maps->mappings[low - 1].end ? &maps->mappings[low - 1] : NULL;
}
