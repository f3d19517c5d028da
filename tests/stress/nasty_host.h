/* SPDX-License-Identifier: Apache-2.0 */
/* nasty_host.h - what the kinds of the nasty host share: rounds, phases, errors with a name, and the host's signals.
 *
 * A kind is a way to be nasty with a check of its own: it does what a program may do, and knows what must come out. Whatever
 * else comes out is an error, whoever is to blame: alone, without a recorder, there must be none. */
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

/* The worker is at a new step of its round. One that makes no step for too long is a hang, told by that phase, and what the thread does that made the last. */
void nasty_step(struct nasty_worker *worker, const char *phase);

/* One more round is done. */
void nasty_round(struct nasty_worker *worker);

/* 0..bound - 1. For the worker's own thread. */
unsigned nasty_random(struct nasty_worker *worker, unsigned bound);

/* Which of its kind's workers it is, from 0. */
unsigned nasty_number(const struct nasty_worker *worker);

/* A wrong result. Any thread. */
void nasty_error(struct nasty_worker *worker, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Something that is no error but belongs into the summary. */
void nasty_note(struct nasty_worker *worker, long count);

/* pthread_create() that must succeed; `stack_bytes` 0 is the default. */
pthread_t nasty_thread(struct nasty_worker *worker, size_t stack_bytes, void *(*body)(void *), void *argument);

/* pthread_join() that must succeed. */
void *nasty_join(struct nasty_worker *worker, pthread_t thread);

/* The host's handlers that ran on this thread. A call that ends with EINTR while this stood still was interrupted by
 * somebody else. */
extern __thread volatile sig_atomic_t nasty_handled;

/* After a call that failed: true when it was interrupted by a handler of the host and is to be made again. EINTR that nobody
 * sent, and any other error, are errors. Only for calls that the kernel makes again by itself where no handler ran: another
 * thread may take a signal of the process first. */
bool nasty_is_interrupted(struct nasty_worker *worker, sig_atomic_t handled_before, const char *call);

/* Signals that go to the process or a thread at random and have handlers of the host. */
void nasty_host_signals(sigset_t *set);
void nasty_block_host_signals(void);

/* Held by who loads or unloads or first touches thread-local words of a plugin, and by who forks a child that loads or starts
 * threads: a child has no other thread to open the loader's lock, and what that was freeing stays half freed. */
extern pthread_mutex_t nasty_loader;

uint64_t nasty_now_ns(void);
void nasty_pause_us(long us);

/* Compute for about so many microseconds; returns what nasty_compute() of the same seed and length always returns. */
uint64_t nasty_compute(uint64_t seed, unsigned us);

/* A byte through a pipe and back, twenty times: each needs to wait for nobody. An error when every single one took longer
 * than no load explains. */
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
