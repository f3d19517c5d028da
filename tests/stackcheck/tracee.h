/* SPDX-License-Identifier: Apache-2.0 */
/* tracee.h - a process whose threads run freely, except for the one that is being looked at. */
#ifndef STACKCHECK_TRACEE_H
#define STACKCHECK_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum {
    TRACEE_THREADS_MAX = 1024
};

struct tracee {
    pid_t pid;
    pid_t threads[TRACEE_THREADS_MAX];
    uint32_t thread_count;
    pid_t stopped;      /* the thread that is being looked at; 0: none */
    int pending_signal; /* to be delivered when it continues */
    bool was_spawned;
    bool ended;
    int status; /* of waitpid(), if it has ended */
};

/* Start a program, or seize a running one. Returns 0 or a negative errno. */
int tracee_spawn(struct tracee *tracee, char *const argv[]);
int tracee_seize(struct tracee *tracee, pid_t pid);

/* Detach: a spawned program is killed, a seized one continues. */
void tracee_release(struct tracee *tracee);

/* Handle threads that stopped for reasons of their own (signals, new threads). Does not wait. */
void tracee_serve(struct tracee *tracee);

/* Stop a thread wherever it is. False: it has ended. */
bool tracee_stop(struct tracee *tracee, pid_t tid);

/* Step the stopped thread: by one instruction; or to its next entry to or return from the kernel, or as far as it gets
 * in `timeout_us`. It is stopped again afterwards. False: it has ended. */
bool tracee_step(struct tracee *tracee);
bool tracee_run_to_kernel(struct tracee *tracee, uint32_t timeout_us, bool *reached_out);

bool tracee_registers(const struct tracee *tracee, struct user_regs_struct *registers_out);

/* Let the stopped thread continue. */
void tracee_continue(struct tracee *tracee);

#endif
