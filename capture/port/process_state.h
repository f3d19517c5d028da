/* SPDX-License-Identifier: Apache-2.0 */
/* process_state.h - variables that tell of one process, and not of its forked child.
 *
 * A child of fork() has a copy of all our memory. What says what the machine is, which code there is and what was hooked is true
 * there as well; what says which threads there are, who waits and what was recorded is its parent's. The latter is named
 * beside each variable, and zero again before the child records (agent/forked_child.h). tests/lint/process_state.sh knows every variable of
 * ours, and finds one that nobody has decided on. */
#ifndef SBX_PROCESS_STATE_H
#define SBX_PROCESS_STATE_H

#include <stddef.h>

struct sbx_process_state {
    void *variable;
    size_t bytes;
};

/* `variable`, which begins as zero, is of one process. Behind its definition, in a file or in a function. */
#define SBX_OF_ONE_PROCESS(variable)                              \
    static const struct sbx_process_state sbx_state_of_##variable \
        __attribute__((section("sbx_process_state"), used)) = {&(variable), sizeof(variable)}

/* Make all of them zero. By one thread, while nothing is recorded: hooks may read them meanwhile. */
void sbx_process_state_clear(void);

#endif
