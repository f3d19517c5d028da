/* SPDX-License-Identifier: Apache-2.0 */
/* watch_names.h - what watches and deadlines are called, where the machine that recorded them has told.
 *
 * A payload has a hash of each name. SPOOL/modules, which never leaves its machine, has lines "=HASH NAME" beside those of
 * the modules; so a report made there has names, and one made elsewhere has hashes. */
#ifndef SBX_WATCH_NAMES_H
#define SBX_WATCH_NAMES_H

#include <stdint.h>

struct sbx_watch_names;

/* NULL without memory. */
struct sbx_watch_names *sbx_watch_names_create(void);
void sbx_watch_names_destroy(struct sbx_watch_names *names);

/* Take over the names in an index file; other lines are skipped. Returns 0 or -errno. */
int sbx_watch_names_add_index(struct sbx_watch_names *names, const char *index_path);

/* The name whose hash this is; NULL: not known here. Borrowed until destroy. */
const char *sbx_watch_names_find(const struct sbx_watch_names *names, uint64_t what);

#endif
