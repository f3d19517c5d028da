/* SPDX-License-Identifier: Apache-2.0 */
/* collector_process.h - a complete real server (collector and store) in a process of its own. Its counts decide how
 * often a payload arrived. */
#ifndef SBX_TEST_COLLECTOR_PROCESS_H
#define SBX_TEST_COLLECTOR_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct sbx_collector_process {
    pid_t pid;
    uint16_t port;
    char url[64];
    int hold; /* the process ends when this is closed */
};

/* Start it, before there are threads. Ends the program on failure. */
void sbx_collector_process_start(struct sbx_collector_process *collector);
void sbx_collector_process_stop(struct sbx_collector_process *collector);

/* The number in its /metrics. */
unsigned sbx_collector_process_stored(const struct sbx_collector_process *collector);
unsigned sbx_collector_process_duplicates(const struct sbx_collector_process *collector);

#endif
