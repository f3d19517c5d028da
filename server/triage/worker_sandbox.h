/* SPDX-License-Identifier: Apache-2.0 */
/* worker_sandbox.h - limits what a process that reads untrusted payloads may ask of the system. */
#ifndef SBX_WORKER_SANDBOX_H
#define SBX_WORKER_SANDBOX_H

#include <stdbool.h>

/* Limit this process for good: no new privileges, no new processes, no file opened for writing, no network except, with
 * `has_connections`, on sockets that are connected already; 512 MiB of its own memory, 1,024 descriptors. Other system
 * calls fail with EPERM, and the process goes on. On an architecture without a filter only the limits hold. Returns 0
 * or -errno. */
int sbx_worker_sandbox_close(bool has_connections);

/* False with a sanitizer: its runtime needs what the sandbox forbids, and takes many times as long, so there is no
 * sandbox. */
bool sbx_worker_sandbox_is_real(void);

#endif
