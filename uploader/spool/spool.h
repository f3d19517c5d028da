/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h - a folder of payloads that survive everything except a loss of the disk.
 *
 *   SPOOL/               0700, ours
 *     ID.sbx             waiting to be sent; ID is the payload id in lower hex
 *     raw/ID.raw         snapshots not yet encoded (written by the agent; see agent/)
 *     sent/ID.sbx        delivered; the newest few are kept so that a person can see what was sent
 *     bad/               payloads that the server refused for good, or that could not be read; kept for a person
 *     .NAME-X.PID.tmp    being written, and locked by the writer; every process that opens the spool removes the others
 *     modules            lines "BUILD-ID-HEX PATH" of this machine, for offline symbolization, and "=HASH NAME" of
 *                        watches and deadlines; never sent
 *     images/            copies of executables that were deleted or replaced (tool/companion/lost_images.h); never sent
 *     .ages              how old each file is (spool_ages.h)
 *     .deliver.state     waits that the server asked for, and failed attempts (delivery_memory.h)
 *     active             active days that were reported today (delivery/active_day.h)
 *     consent            "granted" or "denied": the user's answer (agent/shared/consent.h); no file: the user was not
 *                        asked
 *
 * A payload is in the spool when it has its final name. It is written under a temporary name and the count of every
 * write is checked; then follow fsync, rename, and fsync of the folder. Several processes may use one spool. */
#ifndef SBX_SPOOL_H
#define SBX_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_spool;

/* Limits of the spool. Above them, the oldest waiting payload is removed, and counted in spool->dropped
 * (sbx_spool_dropped). */
struct sbx_spool_limits {
    uint64_t bytes_max; /* waiting payloads; default 16 MiB */
    uint32_t files_max; /* default 200 */
    uint32_t sent_kept; /* default 20 */
    uint32_t hours_max; /* how long any file stays (spool_ages.h); default 168 */
};

/* Open the spool, and create the folders as needed (0700). A folder that is not ours, or that other users may write, is
 * refused (-EPERM). `why` gets "PATH: reason". Returns 0 and a spool (given: sbx_spool_close) or -errno. */
int sbx_spool_open(const char *path, const struct sbx_spool_limits *limits, struct sbx_spool **spool_out, char *why,
                   size_t why_bytes);
void sbx_spool_close(struct sbx_spool *spool);
const char *sbx_spool_path(const struct sbx_spool *spool);

/* Put one envelope; durable if it returns 0. For an id that is waiting or was sent already, it returns 0 and changes
 * nothing. On a full disk, the files that sent/ and bad/ keep for a person are removed first. -ENOSPC, -EIO ...:
 * nothing is left behind, and the payloads in the spool are untouched. */
int sbx_spool_put(struct sbx_spool *spool, const uint8_t id[16], const void *envelope, size_t bytes);

/* Replace the bytes of a waiting payload by the same payload, sealed. Durable. Returns 0 or -errno; then the old bytes
 * are there. */
int sbx_spool_replace(struct sbx_spool *spool, const uint8_t id[16], const void *envelope, size_t bytes);

/* The waiting payloads, oldest first: calls `each` until it returns non-zero, and returns that value. */
int sbx_spool_each(struct sbx_spool *spool, int (*each)(void *context, const char *path, const uint8_t id[16]),
                   void *context);

/* Is this payload about the end of a stall that another payload here is about, waiting or sent? Both together are one
 * stall. */
bool sbx_spool_is_end(const struct sbx_spool *spool, const uint8_t id[16]);

int sbx_spool_mark_sent(struct sbx_spool *spool, const uint8_t id[16]); /* to sent/, durable */
int sbx_spool_mark_bad(struct sbx_spool *spool, const uint8_t id[16]);  /* to bad/, durable */
/* Remove every waiting payload and every raw snapshot, unsent. Returns 0, or -errno of the first that could not be
 * removed. */
int sbx_spool_empty(struct sbx_spool *spool);
uint64_t sbx_spool_dropped(const struct sbx_spool *spool);

/* Store the paths of modules on this machine: merges "HEX PATH" lines into SPOOL/modules, which is replaced
 * atomically. */
int sbx_spool_note_module(struct sbx_spool *spool, const uint8_t *build_id, size_t build_id_bytes, const char *path);
/* The same for the name of a watch or deadline. `what` is the hash that a payload has of it (40 bits). */
int sbx_spool_note_watch(struct sbx_spool *spool, uint64_t what, const char *name);
int sbx_spool_save_modules(struct sbx_spool *spool);

/* Has the user said no? Then nothing of the spool may be packed or sent. A file that cannot be read counts as a no. */
bool sbx_spool_is_denied(const struct sbx_spool *spool);
/* Does the file contain the user's no in full? Then this calls sbx_spool_empty(), because payloads that were being
 * packed at that time came after the deletion. Returns whether no payload is waiting any more for this reason. */
bool sbx_spool_empty_when_refused(struct sbx_spool *spool);

#endif
