/* SPDX-License-Identifier: Apache-2.0 */
/* symbolizer.h - where names come from: a store, or symbol files by build-id. Opened files are cached. */
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

/* `dirs` (borrowed): folders that are searched for ELF files by build-id, and once, now, for names of embedded
 * runtimes' functions (provider_map.h). `index_path` (may be NULL): a file of lines "BUILD-ID-HEX PATH" and "=HASH
 * NAME" (of watches), as `stallbox run` leaves in its spool (SPOOL/modules). The usual places are always searched:
 * /usr/lib/debug/.build-id, and the executables in /usr/bin, /usr/sbin, /usr/local/bin and the system library folders,
 * by name if the payload names a module, and by build-id; before them the files of running processes. A file is used
 * only if its build-id note is equal. Returns NULL if memory runs out. */
struct sbx_symbolizer *sbx_symbolizer_create(const char *const *dirs, size_t dir_count);
/* May be called several times. Returns 0 or -errno; a missing file is -ENOENT. */
int sbx_symbolizer_add_index(struct sbx_symbolizer *symbolizer, const char *index_path);
void sbx_symbolizer_destroy(struct sbx_symbolizer *symbolizer);

/* A module that was not found, or was found without debug information, is searched again after a minute, by this clock
 * of seconds; default: CLOCK_MONOTONIC. `now_s` must never return 0 or go back. */
void sbx_symbolizer_use_clock(struct sbx_symbolizer *symbolizer, time_t (*now_s)(void));

/* From now on use only those files of this machine that are in `dirs` or in an index. For a server on a machine that
 * does not run the judged programs. */
void sbx_symbolizer_skip_local_files(struct sbx_symbolizer *symbolizer);

/* Ask `store` (borrowed until destroy) before any file. A file with debug information replaces an image of symbols
 * only. */
void sbx_symbolizer_use_store(struct sbx_symbolizer *symbolizer, struct sbx_symbol_store *store);

/* From now on ask `store` (borrowed until the next call or destroy; NULL: none) before the store above: its image is
 * used first. If its image has only symbols, an image with debug information in the store above replaces it. `owner`
 * (not 0) identifies the answers if there are several such stores. */
void sbx_symbolizer_use_own_store(struct sbx_symbolizer *symbolizer, struct sbx_symbol_store *store, uint64_t owner);

/* Something new arrived for this build-id: search again at the next lookup. Texts that were borrowed from its file are
 * invalid. */
void sbx_symbolizer_forget(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes);
/* Ask `server` (borrowed until destroy) if neither store nor files have debug information. A server that failed is not
 * asked again for a minute. Use it only in a process with one thread. */
void sbx_symbolizer_use_debuginfod(struct sbx_symbolizer *symbolizer, const struct sbx_debuginfod *server);
/* Why that server failed since the last call of this function, as a text for a person; NULL: no failure. */
const char *sbx_symbolizer_debuginfod_trouble(struct sbx_symbolizer *symbolizer);

/* The symbol file of a module, or NULL if there is none. `name` (may be NULL) is the likely name. *path_out (may be
 * NULL as argument) gets the path that tells the module's name, also if only the index has it; NULL: none. Both are
 * borrowed until the next call. */
struct sbx_symbol_file *sbx_symbolizer_file(struct sbx_symbolizer *symbolizer, const uint8_t *build_id, size_t bytes,
                                            const char *name, const char **path_out);

/* The same for a caller that will look up these addresses: names in a server are fetched in one round trip. If these
 * are damaged or the server does not answer, the files of this machine are used instead. */
struct sbx_symbol_file *sbx_symbolizer_file_for(struct sbx_symbolizer *symbolizer, const uint8_t *build_id,
                                                size_t bytes, const char *name, const uint64_t *addresses, size_t count,
                                                const char **path_out);

/* The name of a watch or deadline; NULL: not known here. Borrowed until the symbolizer's destroy. */
const char *sbx_symbolizer_watch_name(const struct sbx_symbolizer *symbolizer, uint64_t what);

/* Names of functions of embedded runtimes, borrowed; NULL if there is no symbolizer. */
struct sbx_provider_map *sbx_symbolizer_providers(struct sbx_symbolizer *symbolizer);

#endif
