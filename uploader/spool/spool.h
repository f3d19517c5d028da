/* SPDX-License-Identifier: Apache-2.0 */
/* spool.h - a folder of payloads that survive anything but the disk.
 *
 *   SPOOL/               0700, ours
 *     ID.sbx             waiting to be sent; ID is the payload id in lower hex
 *     raw/ID.raw         snapshots not yet encoded (written by the agent; see agent/)
 *     sent/ID.sbx        delivered; the newest few are kept so that a person can look at what left
 *     bad/               payloads that the server refused for good or that could not be read, kept for a person
 *     .NAME-X.PID.tmp    being written, and locked by the writer; every process that opens the spool removes the others
 *     modules            lines "BUILD-ID-HEX PATH" of this machine, for offline symbolization, and "=HASH NAME" of watches
 *                        and deadlines; never sent
 *     images/            copies of executables that had been deleted or replaced (tool/companion/lost_images.h); never sent
 *     .ages              how old each file is (spool_ages.h)
 *     .deliver.state     what the server asked for, and what was tried in vain (delivery_memory.h)
 *     active             machine-days that were told today (delivery/active_day.h)
 *     consent            "granted" or "denied": what the user said (agent/shared/consent.h); no file: he was not asked
 *
 * A payload is in the spool when its final name is there: it is written under a temporary name, every write's count is
 * checked, then fsync, rename, fsync of the folder. Several processes may use one spool. */
#ifndef SBX_SPOOL_H
#define SBX_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sbx_spool;

/* Bounds of what is kept; over them the oldest waiting payload goes, and is counted in spool->dropped (sbx_spool_dropped). */
struct sbx_spool_limits {
    uint64_t bytes_max; /* waiting payloads; default 16 MiB */
    uint32_t files_max; /* default 200 */
    uint32_t sent_kept; /* default 20 */
    uint32_t hours_max; /* how long anything stays (spool_ages.h); default 168 */
};

/* Open, making the folders as needed (0700). Refuses a folder that is not ours or that others may write (-EPERM).
 * `why` gets "PATH: reason". Returns 0 and a spool (given: sbx_spool_close) or -errno. */
int sbx_spool_open(const char *path, const struct sbx_spool_limits *limits, struct sbx_spool **spool_out, char *why,
                   size_t why_bytes);
void sbx_spool_close(struct sbx_spool *spool);
const char *sbx_spool_path(const struct sbx_spool *spool);

/* Put one envelope; durable when it returns 0. Putting an id that waits or was sent already is 0 and changes nothing.
 * On a full disk what sent/ and bad/ keep for a person makes room first.
 * -ENOSPC, -EIO ...: nothing is left behind and whatever was spooled before is untouched. */
int sbx_spool_put(struct sbx_spool *spool, const uint8_t id[16], const void *envelope, size_t bytes);

/* Put other bytes in the place of a waiting payload: the same, sealed. Durable. 0 or -errno; then the old ones are
 * there. */
int sbx_spool_replace(struct sbx_spool *spool, const uint8_t id[16], const void *envelope, size_t bytes);

/* The waiting payloads, oldest first: calls `each` until it returns non-zero, and returns that. */
int sbx_spool_each(struct sbx_spool *spool, int (*each)(void *context, const char *path, const uint8_t id[16]),
                   void *context);

/* Does this payload tell how a stall ended that a payload here tells, waiting or sent? Both together are one stall. */
bool sbx_spool_is_end(const struct sbx_spool *spool, const uint8_t id[16]);

int sbx_spool_mark_sent(struct sbx_spool *spool, const uint8_t id[16]); /* to sent/, durable */
int sbx_spool_mark_bad(struct sbx_spool *spool, const uint8_t id[16]);  /* to bad/, durable */
/* Remove every waiting payload and every raw snapshot, unsent. Returns 0 or -errno of the first that could not be. */
int sbx_spool_empty(struct sbx_spool *spool);
uint64_t sbx_spool_dropped(const struct sbx_spool *spool);

/* Remember where modules lie on this machine: merges "HEX PATH" lines into SPOOL/modules, atomically replaced. */
int sbx_spool_note_module(struct sbx_spool *spool, const uint8_t *build_id, size_t build_id_bytes, const char *path);
/* The same of what a watch or deadline is called; `what` is the hash that a payload has of it (40 bits). */
int sbx_spool_note_watch(struct sbx_spool *spool, uint64_t what, const char *name);
int sbx_spool_save_modules(struct sbx_spool *spool);

/* Has the user said no? Then nothing of the spool may be packed or sent. A file that cannot be read is a no. */
bool sbx_spool_is_denied(const struct sbx_spool *spool);
/* Has he said no in so many words? Then sbx_spool_empty(): what was being packed while he said it came after his own
 * deletion. Returns whether nothing waits any more for that reason. */
bool sbx_spool_empty_when_refused(struct sbx_spool *spool);

#endif
