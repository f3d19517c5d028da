/* SPDX-License-Identifier: Apache-2.0 */
/* stall_sampling.c - locks, reads, decides, writes, unlocks. */
#include "stall_sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "durable_file.h"
#include "stall_signature.h"

static const char file_name[] = "stalls", lock_name[] = ".stalls.lock";

/* Returns a descriptor that holds the lock, or -errno. The file stays, because another process may have it open. */
static int take_lock(int folder)
{
    int lock = openat(folder, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0) {
        return -errno;
    }
    while (flock(lock, LOCK_EX) != 0) {
        if (errno != EINTR) {
            int result = -errno;
            close(lock);
            return result;
        }
    }
    return lock;
}

/* Returns 0 also if there is no file yet, or if the file is not ours. Returns -errno if it cannot be read. */
static int read_counts(int folder, struct sbx_stall_counts *counts_out)
{
    uint8_t *bytes;
    size_t count;
    int result = sbx_durable_file_read(folder, file_name, SBX_STALL_COUNTS_BYTES_MAX, &bytes, &count);
    if (result == 0) {
        (void)sbx_stall_counts_parse(bytes, count, counts_out); /* all zero if the file is damaged */
        free(bytes);
        return 0;
    }
    return result == -ENOENT || result == -EFBIG || result == -EINVAL || result == -ELOOP ? 0 : result;
}

static int write_counts(int folder, const struct sbx_stall_counts *counts)
{
    uint8_t *bytes = malloc(SBX_STALL_COUNTS_BYTES_MAX);
    if (bytes == NULL) {
        return -ENOMEM;
    }
    int result = sbx_durable_file_write(folder, file_name, bytes, sbx_stall_counts_print(counts, bytes));
    free(bytes);
    return result;
}

/* Returns a random number for this machine. If there is none, the first snapshot's id is used, which is random, too. */
static uint64_t make_seed(const uint8_t id[16])
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed) {
        memcpy(&seed, id, sizeof seed);
    }
    return seed != 0 ? seed : 1;
}

/* Decides about a snapshot that has no stored decision. */
static enum sbx_stall_fate decide(struct sbx_stall_counts *counts, const struct sbx_snapshot *snapshot,
                                  const struct sbx_sampling_terms *terms, const struct sbx_delivery_gate *gate,
                                  struct sbx_sampled *sampled_out)
{
    const uint8_t *id = snapshot->header.snapshot_id;
    uint32_t kind = snapshot->header.trigger.kind, one_in;
    uint64_t signature = sbx_stall_signature(snapshot);
    enum sbx_stall_fate fate = SBX_FATE_THINNED;
    counts->seed = counts->seed != 0 ? counts->seed : make_seed(id);
    if (sbx_stall_counts_see(counts, signature, kind, terms, &one_in)) {
        fate = gate == NULL || gate->may_pack(gate->context, kind) ? SBX_FATE_TOLD : SBX_FATE_WITHHELD;
    }
    sbx_stall_counts_decide(counts, signature, id, fate, one_in, sampled_out);
    return fate;
}

int sbx_stall_sampling_decide(int folder, const struct sbx_snapshot *snapshot, const struct sbx_sampling_terms *terms,
                              const struct sbx_delivery_gate *gate, enum sbx_stall_fate *fate_out,
                              struct sbx_sampled *sampled_out)
{
    struct sbx_stall_counts *counts = calloc(1, sizeof *counts);
    if (counts == NULL) {
        return -ENOMEM;
    }
    int lock = take_lock(folder);
    int result = lock < 0 ? lock : read_counts(folder, counts);
    if (result == 0) {
        *fate_out = sbx_stall_counts_find(counts, snapshot->header.snapshot_id, sampled_out);
        if (*fate_out == SBX_FATE_UNKNOWN) {
            *fate_out = decide(counts, snapshot, terms, gate, sampled_out);
            result = write_counts(folder, counts);
        }
    }
    if (lock >= 0) {
        close(lock);
    }
    free(counts);
    return result;
}

int sbx_stall_sampling_recall(int folder, const uint8_t id[16], enum sbx_stall_fate *fate_out)
{
    struct sbx_sampled ignored;
    struct sbx_stall_counts *counts = calloc(1, sizeof *counts);
    if (counts == NULL) {
        return -ENOMEM;
    }
    int lock = take_lock(folder);
    int result = lock < 0 ? lock : read_counts(folder, counts);
    *fate_out = result == 0 ? sbx_stall_counts_find(counts, id, &ignored) : SBX_FATE_UNKNOWN;
    if (lock >= 0) {
        close(lock);
    }
    free(counts);
    return result;
}
