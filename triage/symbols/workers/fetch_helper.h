/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_helper.h - sbx_debuginfod_fetch() for a program with several threads and with secrets, by a process that was forked
 * before it had them (helper_process.h). */
#ifndef SBX_FETCH_HELPER_H
#define SBX_FETCH_HELPER_H

#include "debuginfod.h"

struct sbx_fetch_helper;

/* Returns 0 and a helper (given: sbx_fetch_helper_stop), or -errno. */
int sbx_fetch_helper_start(struct sbx_fetch_helper **helper_out);
void sbx_fetch_helper_stop(struct sbx_fetch_helper *helper); /* nobody waits in it. NULL is fine */
/* Kill it: whoever waits gets -EPIPE. Any thread, until stop; NULL is fine. */
void sbx_fetch_helper_cancel(struct sbx_fetch_helper *helper);

/* As sbx_debuginfod_fetch(), and -EPIPE when the helper is gone. Whatever lies in `server->cache_folder`, which is made, is removed before and
 * after: nothing is kept but the descriptor. Any thread; one after the other. */
int sbx_fetch_helper_fetch(struct sbx_fetch_helper *helper, const struct sbx_debuginfod *server,
                           const uint8_t *build_id, size_t bytes, int *fd_out, char *why, size_t why_bytes);

#endif
