/* SPDX-License-Identifier: Apache-2.0 */
/* delivery_holds.c - waits by payload id, read from the spool and written to it. */
#include "delivery_holds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable_file.h"

static const char memory_name[] = ".deliver.state";

void sbx_delivery_holds_release(struct sbx_delivery_holds *holds)
{
    free(holds->waiting);
    *holds = (struct sbx_delivery_holds){.waiting = NULL};
}

void sbx_delivery_holds_recall(struct sbx_delivery_holds *holds, int root, const char *server_url,
                               const struct sbx_delivery_now *now)
{
    uint8_t *text;
    size_t bytes;
    sbx_delivery_holds_release(holds);
    if (sbx_durable_file_read(root, memory_name, SBX_DELIVERY_MEMORY_BYTES_MAX, &text, &bytes) != 0) {
        return;
    }
    struct sbx_delivery_memory *memory = malloc(sizeof *memory);
    if (memory != NULL) {
        sbx_delivery_memory_parse((const char *)text, bytes, server_url, now, memory);
        holds->server = memory->server;
        holds->waiting = reallocarray(NULL, SBX_HOLDS_MAX, sizeof *holds->waiting);
        holds->room = holds->waiting != NULL ? SBX_HOLDS_MAX : 0;
        for (size_t i = 0; i < memory->payload_count && i < holds->room; i++) {
            holds->waiting[holds->count++] = (struct sbx_waiting){.hold = memory->payloads[i]};
        }
    }
    free(memory);
    free(text);
}

void sbx_delivery_holds_memorize(struct sbx_delivery_holds *holds, int root, const char *server_url,
                                 const struct sbx_delivery_now *now)
{
    if (!holds->is_news) {
        return;
    }
    struct sbx_delivery_memory *memory = calloc(1, sizeof *memory);
    char *text = malloc(SBX_DELIVERY_MEMORY_BYTES_MAX);
    if (memory != NULL && text != NULL) {
        memory->server = holds->server;
        for (size_t i = 0; i < holds->count && i < SBX_HOLDS_MAX; i++) {
            memory->payloads[memory->payload_count++] = holds->waiting[i].hold;
        }
        if (sbx_delivery_memory_is_empty(memory)) {
            holds->is_news = unlinkat(root, memory_name, 0) != 0 && errno != ENOENT;
        } else {
            size_t bytes = sbx_delivery_memory_print(memory, server_url, now, text);
            holds->is_news = sbx_durable_file_write(root, memory_name, text, bytes) != 0;
        }
    }
    free(text);
    free(memory);
}

struct sbx_waiting *sbx_delivery_holds_find(const struct sbx_delivery_holds *holds,
                                            const uint8_t id[SBX_PAYLOAD_ID_BYTES])
{
    for (size_t i = 0; i < holds->count; i++) {
        if (memcmp(holds->waiting[i].hold.id, id, SBX_PAYLOAD_ID_BYTES) == 0) {
            return &holds->waiting[i];
        }
    }
    return NULL;
}

struct sbx_waiting *sbx_delivery_holds_remember(struct sbx_delivery_holds *holds,
                                                const uint8_t id[SBX_PAYLOAD_ID_BYTES])
{
    struct sbx_waiting *known = sbx_delivery_holds_find(holds, id);
    if (known != NULL) {
        return known;
    }
    if (holds->count == holds->room) {
        size_t room = holds->room == 0 ? 16 : 2 * holds->room;
        struct sbx_waiting *grown = reallocarray(holds->waiting, room, sizeof *grown);
        if (grown == NULL) {
            return NULL;
        }
        holds->waiting = grown;
        holds->room = room;
    }
    struct sbx_waiting *fresh = &holds->waiting[holds->count++];
    *fresh = (struct sbx_waiting){.seen = true};
    memcpy(fresh->hold.id, id, SBX_PAYLOAD_ID_BYTES);
    return fresh;
}

void sbx_delivery_holds_forget_unseen(struct sbx_delivery_holds *holds)
{
    size_t kept = 0;
    for (size_t i = 0; i < holds->count; i++) {
        if (holds->waiting[i].seen) {
            holds->waiting[kept] = holds->waiting[i];
            holds->waiting[kept++].seen = false;
        }
    }
    holds->is_news |= kept != holds->count;
    holds->count = kept;
}
