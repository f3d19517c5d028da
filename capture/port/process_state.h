/* SPDX-License-Identifier: Apache-2.0 */
/* process_state.h - variables that describe one process, and not its forked child.
 *
 * A child of fork() has a copy of all the agent's memory. Variables that describe the machine, the code and the hooks
 * are right in the child as well. Variables that describe threads, waits and recorded data are the parent's. Each of
 * the latter is named where it is defined, and is set to zero before the child records (agent/forked_child.h).
 * tests/lint/process_state.sh knows every variable of the agent and finds one for which nothing was decided. */
#ifndef SBX_PROCESS_STATE_H
#define SBX_PROCESS_STATE_H

#include <stddef.h>

struct sbx_process_state {
    void *variable;
    size_t bytes;
};

/* `variable`, which begins as zero, belongs to one process. Write this after its definition, in a file or in a
 * function. */
#define SBX_OF_ONE_PROCESS(variable)                              \
    static const struct sbx_process_state sbx_state_of_##variable \
        __attribute__((section("sbx_process_state"), used)) = {&(variable), sizeof(variable)}

/* Set all of them to zero. Called by one thread while nothing is recorded; hooks may read them at the same time. */
void sbx_process_state_clear(void);

#endif
