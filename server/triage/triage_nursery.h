/* SPDX-License-Identifier: Apache-2.0 */
/* triage_nursery.h - where triage workers come from, and how one ends.
 *
 * A worker is made by fork(), which a process with several threads, and with tokens and keys in its memory, should not do for
 * a stranger's payload. So a process is forked at the program's begin, while it has one thread and has read no secret yet. It
 * holds no file of its parent but one socket, and makes the workers. It ends by itself when its parent does, and they with
 * it. */
#ifndef SBX_TRIAGE_NURSERY_H
#define SBX_TRIAGE_NURSERY_H

#include <sys/types.h>

struct sbx_triage_nursery;

/* Fork it. Returns 0 and a nursery (given: stop), or -errno. */
int sbx_triage_nursery_start(struct sbx_triage_nursery **nursery_out);
/* End it, and every worker. Nobody is in another of these calls. NULL is fine. */
void sbx_triage_nursery_stop(struct sbx_triage_nursery *nursery);

/* Make a worker (triage_worker.h). *socket_out is given (close): its end of the conversation. The worker's number is its own
 * until it is buried. Returns 0, -EPIPE when the nursery is gone, or -errno. Any thread. */
int sbx_triage_nursery_make(struct sbx_triage_nursery *nursery, pid_t *worker_out, int *socket_out);
/* Kill it if it lives, and say how it ended: *status_out as of waitpid(). Returns 0 or -EPIPE. Any thread. */
int sbx_triage_nursery_bury(struct sbx_triage_nursery *nursery, pid_t worker, int *status_out);

#endif
