/* SPDX-License-Identifier: Apache-2.0 */
/* payload_list.h - what the PATHs of a command line stand for: payloads and raw snapshots, oldest first.
 *
 * A PATH is a spool (its waiting payloads, raw/ and sent/), one of those folders alone, a payload, or a raw snapshot.
 * Which of the two a file is, is read from its first bytes, not from its name. */
#ifndef SBX_PAYLOAD_LIST_H
#define SBX_PAYLOAD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unseal.h"

struct sbx_stall;
struct sbx_symbolizer;

struct sbx_payload_entry {
    char *path;
    /* the folder it was found through, in which it may have moved meanwhile; NULL: the user named the file */
    char *root;
    char id[33];     /* payload id in lower hex as its first bytes claim; "" when they do not */
    bool raw;        /* a snapshot that is not encoded yet */
    bool may_be_end; /* judged by its size or header, it may be the end of a stall, not a stall */
    int64_t time_ns; /* file time */
};

struct sbx_payload_list {
    struct sbx_payload_entry *entries;
    size_t count, capacity;
    char **indexes; /* module index files of the spools the paths lie in, each once */
    size_t index_count, index_capacity;
    size_t failures; /* paths that could not be read; each got a message */
};

/* Add what `path` stands for. What cannot be read is reported as "PATH: reason" on standard error in the name of
 * `command`, counted, and left out. Returns 0, or -ENOMEM. Zero the list before the first call. */
int sbx_payload_list_add(struct sbx_payload_list *list, const char *command, const char *path);

/* The number of different payloads that the entries claim to be. One that moves through a spool during the listing, or
 * is named twice, is listed twice. Only decoding shows which entries really are the same. */
size_t sbx_payload_list_distinct(const struct sbx_payload_list *list);

/* Read and decode one entry; a raw snapshot is encoded in memory first, under the default policy, so that a report
 * shows what would leave and no more; a sealed payload is opened with one of `keys` (NULL: none). `symbolizer` (may be
 * NULL) learns where a raw snapshot's modules lie. Returns 0 and a stall (given: sbx_stall_destroy), or a negative
 * errno with the reason in `why`. */
int sbx_payload_load(const struct sbx_payload_entry *entry, const struct sbx_unseal_keys *keys,
                     struct sbx_symbolizer *symbolizer, struct sbx_stall **stall_out, char *why, size_t why_bytes);

/* Release everything in the list. */
void sbx_payload_list_finish(struct sbx_payload_list *list);

#endif
