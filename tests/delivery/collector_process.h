/* SPDX-License-Identifier: Apache-2.0 */
/* collector_process.h - a real server (collector, store, all) in a process of its own: what it counted is the last word
 * on what arrived how often. */
#ifndef SBX_TEST_COLLECTOR_PROCESS_H
#define SBX_TEST_COLLECTOR_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct sbx_collector_process {
    pid_t pid;
    uint16_t port;
    char url[64];
    int hold; /* it ends when this closes */
};

/* Start; before any thread. Ends the program on failure. */
void sbx_collector_process_start(struct sbx_collector_process *collector);
void sbx_collector_process_stop(struct sbx_collector_process *collector);

/* From its /metrics. */
unsigned sbx_collector_process_stored(const struct sbx_collector_process *collector);
unsigned sbx_collector_process_duplicates(const struct sbx_collector_process *collector);

#endif
