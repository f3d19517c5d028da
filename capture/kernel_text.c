/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_text.c - parses the kernel's files about a thread, its control group and the machine. */
#include "kernel_text.h"

#include <stdlib.h>
#include <string.h>

bool sbx_schedstat_delay(const char *text, uint64_t *delay_ns_out)
{
    char *after;
    uint64_t ran_ns = strtoull(text, &after, 10);
    if (after == text || *after != ' ') {
        return false;
    }
    const char *second = after + 1;
    uint64_t delay_ns = strtoull(second, &after, 10);
    if (after == second || *after != ' ') {
        return false;
    }
    *delay_ns_out = delay_ns;
    return ran_ns != 0 || delay_ns != 0 || strtoull(after + 1, NULL, 10) != 0;
}

bool sbx_line_value(const char *text, const char *name, uint64_t *value_out)
{
    size_t length = strlen(name);
    for (const char *line = text; line != NULL && *line != '\0';) {
        if (strncmp(line, name, length) == 0) {
            char *after;
            *value_out = strtoull(line + length, &after, 10);
            return after != line + length;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return false;
}

bool sbx_pressure_total(const char *text, const char *line, uint64_t *total_us_out)
{
    size_t length = strlen(line);
    const char *at = text;
    while (at != NULL && (strncmp(at, line, length) != 0 || at[length] != ' ')) {
        at = strchr(at, '\n');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at == NULL) {
        return false;
    }
    static const char name[] = " total=";
    const char *end = strchr(at, '\n'), *total = strstr(at, name);
    if (total == NULL || (end != NULL && total > end)) {
        return false;
    }
    char *after;
    *total_us_out = strtoull(total + sizeof name - 1, &after, 10);
    return after != total + sizeof name - 1;
}

bool sbx_stat_faults(const char *text, uint64_t *minor_out, uint64_t *major_out)
{
    const char *at = strrchr(text, ')'); /* the name may contain brackets and spaces; the fields after it do not */
    for (int field = 2; field < 10; field++) {
        at = at != NULL ? strchr(at + 1, ' ') : NULL;
    }
    char *after;
    if (at == NULL) {
        return false;
    }
    *minor_out = strtoull(at, &after, 10); /* field 10; field 11 is for children that were waited for */
    if (after == at || *after != ' ' || (at = strchr(after + 1, ' ')) == NULL) {
        return false;
    }
    *major_out = strtoull(at, &after, 10);
    return after != at;
}

/* A line is "number:controllers:path". For the unified hierarchy the number is 0 and controllers is empty. */
bool sbx_control_group_path(const char *text, const char *controller, char *path_out, unsigned path_bytes)
{
    size_t length = strlen(controller);
    for (const char *line = text; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        end = end != NULL ? end : line + strlen(line);
        const char *names = memchr(line, ':', (size_t)(end - line));
        const char *path = names != NULL ? memchr(names + 1, ':', (size_t)(end - names - 1)) : NULL;
        for (const char *name = names; path != NULL && name != NULL && name < path;) {
            const char *next = memchr(name + 1, ',', (size_t)(path - name - 1));
            size_t bytes = (size_t)((next != NULL ? next : path) - name - 1);
            if (bytes == length && strncmp(name + 1, controller, length) == 0) {
                size_t path_length = (size_t)(end - path - 1);
                if (path_length >= path_bytes) {
                    return false;
                }
                memcpy(path_out, path + 1, path_length);
                path_out[path_length] = '\0';
                return true;
            }
            name = next;
        }
        line = *end != '\0' ? end + 1 : NULL;
    }
    return false;
}
