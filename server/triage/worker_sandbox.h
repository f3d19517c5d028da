/* SPDX-License-Identifier: Apache-2.0 */
/* worker_sandbox.h - what a process that reads strangers' payloads may still ask of the system. */
#ifndef SBX_WORKER_SANDBOX_H
#define SBX_WORKER_SANDBOX_H

#include <stdbool.h>

/* Bound this process for good: no new privileges, no other process, no file opened for writing, no network but, where it
 * `has_connections`, bytes to and from what it is connected to already; 512 MiB of memory of its own, 1,024 descriptors. Whatever else it asks for is refused (EPERM), and it goes on
 * without. Where the architecture has no filter here, the limits hold alone. Returns 0 or -errno. */
int sbx_worker_sandbox_close(bool has_connections);

/* A sanitizer's runtime needs what the sandbox forbids, and takes many times as long: then there is none. */
bool sbx_worker_sandbox_is_real(void);

#endif
