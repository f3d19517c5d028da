/* SPDX-License-Identifier: Apache-2.0 */
/* triage_nursery.h - makes triage workers, and reports how they end.
 *
 * A worker is made by fork(). A process with several threads, and with tokens and keys in memory, should not fork for
 * an untrusted payload. So the program forks a nursery at its start, while it has one thread and has read no secrets.
 * The nursery keeps no file of its parent except one socket, and makes the workers. It ends when its parent ends, and
 * its workers end with it. */
#ifndef SBX_TRIAGE_NURSERY_H
#define SBX_TRIAGE_NURSERY_H

#include <sys/types.h>

struct sbx_triage_nursery;

/* Fork the nursery. Returns 0 and a nursery (given: stop), or -errno. */
int sbx_triage_nursery_start(struct sbx_triage_nursery **nursery_out);
/* End it, and all workers. No thread may be in another of these calls. NULL is fine. */
void sbx_triage_nursery_stop(struct sbx_triage_nursery *nursery);

/* Make a worker (triage_worker.h). *socket_out is given (close): the server's end of its socket. The process number is
 * not reused before the worker is buried. Returns 0, -EPIPE when the nursery is gone, or -errno. Any thread. */
int sbx_triage_nursery_make(struct sbx_triage_nursery *nursery, pid_t *worker_out, int *socket_out);
/* Kill the worker if it still runs, and wait for it: *status_out as of waitpid(). Returns 0 or -EPIPE. Any thread. */
int sbx_triage_nursery_bury(struct sbx_triage_nursery *nursery, pid_t worker, int *status_out);

#endif
