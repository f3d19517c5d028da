/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_helper.h - sbx_debuginfod_fetch() for a program with several threads and with secrets. The work is done in a
 * process that was forked before the program had them (helper_process.h). */
#ifndef SBX_FETCH_HELPER_H
#define SBX_FETCH_HELPER_H

#include "debuginfod.h"

struct sbx_fetch_helper;

/* Returns 0 and a helper (given: sbx_fetch_helper_stop), or -errno. */
int sbx_fetch_helper_start(struct sbx_fetch_helper **helper_out);
void sbx_fetch_helper_stop(struct sbx_fetch_helper *helper); /* no thread may be waiting in it. NULL is fine */
/* Kill it: waiting threads get -EPIPE. Any thread, until stop; NULL is fine. */
void sbx_fetch_helper_cancel(struct sbx_fetch_helper *helper);

/* As sbx_debuginfod_fetch(), and -EPIPE if the helper is gone. `server->cache_folder` is made, and its content is
 * removed before and after: only the descriptor is kept. Any thread; calls take turns. */
int sbx_fetch_helper_fetch(struct sbx_fetch_helper *helper, const struct sbx_debuginfod *server,
                           const uint8_t *build_id, size_t bytes, int *fd_out, char *why, size_t why_bytes);

#endif
