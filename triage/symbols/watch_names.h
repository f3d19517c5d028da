/* SPDX-License-Identifier: Apache-2.0 */
/* watch_names.h - the names of watches and deadlines, if the recording machine stored them.
 *
 * A payload has only a hash of each name. SPOOL/modules, which never leaves its machine, has lines "=HASH NAME" in
 * addition to those of the modules. So a report made on that machine has names, and one made elsewhere has hashes. */
#ifndef SBX_WATCH_NAMES_H
#define SBX_WATCH_NAMES_H

#include <stdint.h>

struct sbx_watch_names;

/* NULL if memory runs out. */
struct sbx_watch_names *sbx_watch_names_create(void);
void sbx_watch_names_destroy(struct sbx_watch_names *names);

/* Read the names in an index file; other lines are skipped. Returns 0 or -errno. */
int sbx_watch_names_add_index(struct sbx_watch_names *names, const char *index_path);

/* The name with this hash; NULL: not known here. Borrowed until destroy. */
const char *sbx_watch_names_find(const struct sbx_watch_names *names, uint64_t what);

#endif
