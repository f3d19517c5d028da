/* SPDX-License-Identifier: Apache-2.0 */
/* symbolizer.h - where names come from: a store, or symbol files by build-id, of which the opened ones are kept. */
#ifndef SBX_SYMBOLIZER_H
#define SBX_SYMBOLIZER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "debuginfod.h"
#include "provider_map.h"
#include "symbol_file.h"
#include "symbol_store.h"

struct sbx_symbolizer; /* where debug information comes from, with a cache of opened files; one thread at a time */

/* `dirs` (borrowed): folders searched for ELF files by build-id, and for names of embedded runtimes' functions
 * (provider_map.h) once, now; `index_path` (may be NULL): a file of lines
 * "BUILD-ID-HEX PATH" and "=HASH NAME" (of watches), as `stallbox run` leaves in its spool (SPOOL/modules). The usual places are always tried:
 * /usr/lib/debug/.build-id, the executables in /usr/bin, /usr/sbin, /usr/local/bin and the system library folders, by
 * name where the payload names a module and by build-id; before them what processes run. A file is used only if its build-id note equals. Returns NULL
 * without memory. */
struct sbx_symbolizer *sbx_symbolizer_create(const char *const *dirs, size_t dir_count);
/* May be called several times. Returns 0 or -errno; a missing file is -ENOENT. */
int sbx_symbolizer_add_index(struct sbx_symbolizer *symbolizer, const char *index_path);
void sbx_symbolizer_destroy(struct sbx_symbolizer *symbolizer);

/* What is not found, or found without debug information, is looked for again after a minute, by this clock of seconds; without this call by
 * CLOCK_MONOTONIC. `now_s` never answers 0 and does not go back. */
void sbx_symbolizer_use_clock(struct sbx_symbolizer *symbolizer, time_t (*now_s)(void));

/* From now on use no file of this machine but those in `dirs` and those that an index names: for a server whose machine runs none of what it
 * judges. */
void sbx_symbolizer_skip_local_files(struct sbx_symbolizer *symbolizer);

/* Ask `store` (borrowed until destroy) before any file. What it has of symbols alone yields to a file with debug
 * information. */
void sbx_symbolizer_use_store(struct sbx_symbolizer *symbolizer, struct sbx_symbol_store *store);

/* From now on ask `store` (borrowed until the next call or destroy; NULL: none) before that one: what it has counts first, and what it has of
 * symbols alone yields to debug information there. `owner` (not 0) tells the answers of several such stores apart. */
void sbx_symbolizer_use_own_store(struct sbx_symbolizer *symbolizer, struct sbx_symbol_store *store, uint64_t owner);

/* Something came for this build-id: look again at the next question. What was borrowed from its file is gone. */
void sbx_symbolizer_forget(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes);
/* Ask `server` (borrowed until destroy) where neither store nor files have debug information. One that fails is not asked
 * again for a minute. To be used by a process with one thread. */
void sbx_symbolizer_use_debuginfod(struct sbx_symbolizer *symbolizer, const struct sbx_debuginfod *server);
/* Why that server was not to be had since this was asked last, as words for a person; NULL when nothing was wrong. */
const char *sbx_symbolizer_debuginfod_trouble(struct sbx_symbolizer *symbolizer);

/* The symbol file of a module, or NULL when none is to be had. `name` (may be NULL) is what it is probably called.
 * *path_out (may be NULL as argument) gets the path that says what it is called, also where the
 * index alone remembers that, NULL when none does. Both borrowed
 * until the next call. */
struct sbx_symbol_file *sbx_symbolizer_file(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes,
                                            const char *name, const char **path_out);

/* The same for a caller that will ask about these addresses: a server's names for them are fetched at once. Where these are
 * damaged or the server is not reachable, the files of this machine are used instead. */
struct sbx_symbol_file *sbx_symbolizer_file_for(struct sbx_symbolizer *symbolizer, const uint8_t *build_id,
                                                size_t bytes, const char *name, const uint64_t *addresses, size_t count,
                                                const char **path_out);

/* The name of a watch or deadline; NULL: not known here. Borrowed until the symbolizer's destroy. */
const char *sbx_symbolizer_watch_name(const struct sbx_symbolizer *symbolizer, uint64_t what);

/* Names of functions of embedded runtimes, borrowed; NULL without a symbolizer. */
struct sbx_provider_map *sbx_symbolizer_providers(struct sbx_symbolizer *symbolizer);

#endif
