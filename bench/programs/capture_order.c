/* SPDX-License-Identifier: Apache-2.0 */
/* capture_order.c - changes settings of a running process through its control page. So the server benchmarks can ask
 * for all points at one millisecond whatever the default is, and for "installed but switched off".
 *
 * usage: capture_order PID [interval_us=N] [gap_us=N] [points=all] [enabled=0|1] [min_gap_ms=N] [max_cpu_permille=N]
 * Prints the settings in force afterwards, and the number of captures so far: "interval_us N enabled N points HEX
 * captures N". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "control_order.h"

int main(int count, char **arguments)
{
    if (count < 2 || atoi(arguments[1]) <= 0) {
        fprintf(stderr, "usage: capture_order PID [interval_us=N] [gap_us=N] [points=all] [enabled=0|1] [min_gap_ms=N] "
                        "[max_cpu_permille=N]\n");
        return 2;
    }
    struct sbx_recording_header *header = NULL;
    for (int tries = 0; tries < 300 && header == NULL; tries++) { /* the process may still be starting */
        header = bench_control_open(getenv("STALLBOX_RECORDINGS"), (uint32_t)atoi(arguments[1]));
        if (header == NULL) {
            usleep(10000);
        }
    }
    if (header == NULL) {
        fprintf(stderr, "capture_order: process %s has no recorder\n", arguments[1]);
        return 1;
    }
    struct sbx_capture_settings wanted = sbx_control_page_of(header)->in_force;
    for (int i = 2; i < count; i++) {
        const char *value = strchr(arguments[i], '=');
        uint32_t number = value != NULL ? (uint32_t)strtoul(value + 1, NULL, 10) : 0;
        if (strncmp(arguments[i], "interval_us=", 12) == 0) {
            wanted.interval_us = number;
        } else if (strncmp(arguments[i], "gap_us=", 7) == 0) {
            wanted.gap_us = number;
        } else if (strncmp(arguments[i], "max_cpu_permille=", 17) == 0) {
            wanted.max_cpu_permille = number; /* 0: no budget; no policy can request this */
        } else if (strcmp(arguments[i], "points=all") == 0) {
            wanted.points = SBX_POINTS_ALL;
        } else if (strncmp(arguments[i], "enabled=", 8) == 0) {
            wanted.enabled = number != 0;
        } else if (strncmp(arguments[i], "min_gap_ms=", 11) == 0) {
            wanted.min_gap_ms = number;
        } else {
            fprintf(stderr, "capture_order: what is '%s'?\n", arguments[i]);
            return 2;
        }
    }
    if (count > 2 && !bench_control_order(header, &wanted)) {
        fprintf(stderr, "capture_order: process %s did not answer\n", arguments[1]);
        return 1;
    }
    const struct sbx_thread_entry *threads =
        (const struct sbx_thread_entry *)(const void *)((const char *)header + header->threads.at);
    uint64_t captures = header->captures_sync + header->captures_async + header->captures_observed;
    for (uint32_t i = 0; i < header->thread_count && i < header->threads.count; i++) {
        captures += threads[i].state == SBX_THREAD_LIVE ? threads[i].captures : 0;
    }
    printf("interval_us %u enabled %u points %llx captures %llu\n", wanted.interval_us, wanted.enabled,
           (unsigned long long)wanted.points, (unsigned long long)captures);
    return 0;
}
