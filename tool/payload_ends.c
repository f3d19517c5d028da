/* SPDX-License-Identifier: Apache-2.0 */
/* payload_ends.c - ends of stalls among payloads. */
#include "payload_ends.h"

#include <errno.h>
#include <stdlib.h>

#include "stall.h"

/* Load the end in this entry. NULL: it is no end, or cannot be read, which is reported when its report is wanted. */
static struct sbx_stall *load_end(const struct sbx_payload_entry *entry, const struct sbx_unseal_keys *keys)
{
    char why[240];
    struct sbx_stall *stall;
    if (!entry->may_be_end || sbx_payload_load(entry, keys, NULL, &stall, why, sizeof why) != 0) {
        return NULL;
    }
    if (!sbx_stall_is_end(stall)) {
        sbx_stall_destroy(stall);
        return NULL;
    }
    return stall;
}

int sbx_payload_ends_take(struct sbx_payload_ends *ends, struct sbx_payload_list *list,
                          const struct sbx_unseal_keys *keys)
{
    ends->ends = calloc(list->count + 1, sizeof(struct sbx_stall *));
    if (ends->ends == NULL) {
        return -ENOMEM;
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct sbx_stall *end = load_end(&list->entries[i], keys);
        if (end == NULL) {
            list->entries[kept++] = list->entries[i];
            continue;
        }
        ends->ends[ends->count++] = end;
        free(list->entries[i].path);
        free(list->entries[i].root);
    }
    list->count = kept;
    return 0;
}

void sbx_payload_ends_complete(const struct sbx_payload_ends *ends, struct sbx_stall *stall)
{
    for (size_t i = 0; i < ends->count; i++) {
        (void)sbx_stall_complete(stall, ends->ends[i]); /* once: a second is none of it any more */
    }
}

void sbx_payload_ends_finish(struct sbx_payload_ends *ends)
{
    for (size_t i = 0; i < ends->count; i++) {
        sbx_stall_destroy(ends->ends[i]);
    }
    free(ends->ends);
    *ends = (struct sbx_payload_ends){0};
}
