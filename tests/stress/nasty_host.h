/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_host.h - what the kinds of the nasty host share: rounds, phases, errors with a name, and the host's signals.
 *
 * A kind is one way to be nasty, with its own check: it does what a program may do, and knows which result is right.
 * Any other result is an error, whoever caused it. Without a recorder there must be no errors. */
#ifndef NASTY_HOST_H
#define NASTY_HOST_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nasty_worker; /* a thread of a kind that lives as long as the host */

struct nasty_kind {
    const char *name;
    unsigned workers;                          /* threads that run `work` */
    void (*work)(struct nasty_worker *worker); /* rounds while nasty_goes_on() */
};

/* All kinds, in nasty_kinds.c; the last has no name. */
extern const struct nasty_kind nasty_kinds[];

bool nasty_goes_on(void);
bool nasty_is_on(const char *kind);

/* The worker begins a new step of its round. A worker without a new step for too long is a hang. The hang is reported
 * with that phase, and with the state of the thread that made the last step. */
void nasty_step(struct nasty_worker *worker, const char *phase);

/* One more round is done. */
void nasty_round(struct nasty_worker *worker);

/* A number in 0..bound - 1. Only for the worker's own thread. */
unsigned nasty_random(struct nasty_worker *worker, unsigned bound);

/* The number of the worker within its kind, from 0. */
unsigned nasty_number(const struct nasty_worker *worker);

/* Report a wrong result. Any thread may call it. */
void nasty_error(struct nasty_worker *worker, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Count an event that is not an error but is printed in the summary. */
void nasty_note(struct nasty_worker *worker, long count);

/* pthread_create() that must succeed; `stack_bytes` 0 is the default. */
pthread_t nasty_thread(struct nasty_worker *worker, size_t stack_bytes, void *(*body)(void *), void *argument);

/* pthread_join() that must succeed. */
void *nasty_join(struct nasty_worker *worker, pthread_t thread);

/* The number of the host's handlers that ran on this thread. If a call ends with EINTR and this has not changed,
 * something else interrupted the call. */
extern __thread volatile sig_atomic_t nasty_handled;

/* After a call that failed: true when one of the host's handlers interrupted it, so that it must be made again. An
 * EINTR that nobody caused and any other errno are reported as errors. Only for calls that the kernel restarts when no
 * handler ran, because another thread may take a signal of the process first. */
bool nasty_is_interrupted(struct nasty_worker *worker, sig_atomic_t handled_before, const char *call);

/* The signals that are sent to the process or to a thread at random and have handlers of the host. */
void nasty_host_signals(sigset_t *set);
void nasty_block_host_signals(void);

/* Held while a thread loads, unloads, or first touches thread-local words of a plugin, and while it forks a child that
 * loads or starts threads. Such a child has no other thread that could release the loader's lock, and what that thread
 * was freeing stays half freed. */
extern pthread_mutex_t nasty_loader;

uint64_t nasty_now_ns(void);
void nasty_pause_us(long us);

/* Compute for about that many microseconds; nasty_compute() with the same seed and length always returns the same
 * value. */
uint64_t nasty_compute(uint64_t seed, unsigned us);

/* Send a byte through a pipe and back, twenty times; no call needs to wait. An error when every single one took longer
 * than any load explains. */
void nasty_calls_are_quick(struct nasty_worker *worker, const int pipe_fds[2]);

/* Start this program as a child that ends at once (nasty_children.c). */
extern const char *const nasty_child_word;
int nasty_be_child(const char *how);

extern const char *nasty_self;    /* path of this program */
extern const char *nasty_modules; /* folder of its plugins */

/* The kinds. */
void nasty_churn(struct nasty_worker *worker);
void nasty_crowd(struct nasty_worker *worker);
void nasty_cancel(struct nasty_worker *worker);
void nasty_cancel_async(struct nasty_worker *worker);
void nasty_cancel_destructors(struct nasty_worker *worker);
void nasty_exceptions(struct nasty_worker *worker);
void nasty_plugins(struct nasty_worker *worker);
void nasty_deepbind(struct nasty_worker *worker);
void nasty_children(struct nasty_worker *worker);
void nasty_coroutines(struct nasty_worker *worker);
void nasty_small_coroutines(struct nasty_worker *worker);
void nasty_migrating_coroutines(struct nasty_worker *worker);
void nasty_jumps(struct nasty_worker *worker);
void nasty_coroutine_jumps(struct nasty_worker *worker);
void nasty_signals(struct nasty_worker *worker);
void nasty_small_altstacks(struct nasty_worker *worker);
void nasty_drain(struct nasty_worker *worker);
void nasty_realtime(struct nasty_worker *worker);
void nasty_urgent_data(struct nasty_worker *worker);
void nasty_take_urgent(struct nasty_worker *worker);
void nasty_by_pointer(struct nasty_worker *worker);
void nasty_getrandom(struct nasty_worker *worker);
void nasty_compute_check(struct nasty_worker *worker);
void nasty_stdio(struct nasty_worker *worker);
void nasty_bytes(struct nasty_worker *worker);
void nasty_locks(struct nasty_worker *worker);
void nasty_waits(struct nasty_worker *worker);

#ifdef __cplusplus
}
#endif
#endif
