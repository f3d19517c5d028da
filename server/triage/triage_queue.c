/* SPDX-License-Identifier: Apache-2.0 */
/* triage_queue.c - two rings of machines; each machine has its own queue. */
#include "triage_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum {
    PLACES = 1 << 16,  /* places that are remembered; one is forgotten when another gets its slot */
    BUCKETS = 1 << 12, /* per table, by id and by machine */
    NEW_IN_A_ROW = 4,
};

struct entry {
    STAILQ_ENTRY(entry) behind; /* in the queue of its machine */
    LIST_ENTRY(entry) same_id;  /* in the table by id */
    struct sbx_waiting waiting;
};

struct machine {
    TAILQ_ENTRY(machine) turn; /* in its ring; the first one is next */
    LIST_ENTRY(machine) same;  /* in the table by machine */
    uint64_t number;
    STAILQ_HEAD(, entry) line; /* never empty */
};

struct ring {
    TAILQ_HEAD(, machine) turns;
    LIST_HEAD(, machine) machines[BUCKETS];
};

struct sbx_triage_queue {
    struct ring rings[2]; /* 0: payloads of places not seen recently */
    LIST_HEAD(, entry) ids[BUCKETS];
    uint64_t places[PLACES];
    size_t count, max;
    unsigned new_in_a_row;
};

struct sbx_triage_queue *sbx_triage_queue_create(size_t max)
{
    struct sbx_triage_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return NULL;
    queue->max = max;
    TAILQ_INIT(&queue->rings[0].turns);
    TAILQ_INIT(&queue->rings[1].turns);
    return queue;
}

void sbx_triage_queue_destroy(struct sbx_triage_queue *queue)
{
    struct sbx_waiting waiting;
    if (!queue)
        return;
    while (sbx_triage_queue_take(queue, &waiting))
        ;
    free(queue);
}

/* The slot of a number in a table of `size`, a power of two. Untrusted senders choose these numbers. A sender that
 * makes them collide only delays its own payloads. */
static size_t slot_of(uint64_t number, size_t size)
{
    return (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 40) & (size - 1);
}

static uint64_t number_of(const uint8_t id[SBX_ID_BYTES])
{
    uint64_t number;
    memcpy(&number, id, sizeof(number));
    return number;
}

/* Is this a place that was not seen recently? It is remembered from now on. */
static bool is_new_place(struct sbx_triage_queue *queue, uint64_t place)
{
    uint64_t *slot = &queue->places[slot_of(place, PLACES)];
    bool is_new = place != 0 && *slot != place;
    if (is_new)
        *slot = place;
    return is_new;
}

static struct machine *find_machine(struct ring *ring, uint64_t number)
{
    struct machine *machine;
    LIST_FOREACH(machine, &ring->machines[slot_of(number, BUCKETS)], same)
    if (machine->number == number)
        return machine;
    machine = calloc(1, sizeof(*machine));
    if (!machine)
        return NULL;
    machine->number = number;
    STAILQ_INIT(&machine->line);
    LIST_INSERT_HEAD(&ring->machines[slot_of(number, BUCKETS)], machine, same);
    TAILQ_INSERT_TAIL(&ring->turns, machine, turn);
    return machine;
}

int sbx_triage_queue_put(struct sbx_triage_queue *queue, const struct sbx_waiting *waiting)
{
    size_t slot = slot_of(number_of(waiting->id), BUCKETS);
    struct entry *entry;
    LIST_FOREACH(entry, &queue->ids[slot], same_id)
    if (memcmp(entry->waiting.id, waiting->id, SBX_ID_BYTES) == 0)
        return -EEXIST;
    if (queue->count >= queue->max)
        return -ENOSPC;
    entry = malloc(sizeof(*entry));
    struct machine *machine =
        entry ? find_machine(&queue->rings[!is_new_place(queue, waiting->place)], waiting->machine) : NULL;
    if (!machine) {
        free(entry);
        return -ENOMEM;
    }
    entry->waiting = *waiting;
    STAILQ_INSERT_TAIL(&machine->line, entry, behind);
    LIST_INSERT_HEAD(&queue->ids[slot], entry, same_id);
    queue->count++;
    return 0;
}

bool sbx_triage_queue_take(struct sbx_triage_queue *queue, struct sbx_waiting *waiting_out)
{
    bool has_new = !TAILQ_EMPTY(&queue->rings[0].turns), has_others = !TAILQ_EMPTY(&queue->rings[1].turns);
    if (!has_new && !has_others)
        return false;
    bool takes_new = has_new && !(has_others && queue->new_in_a_row >= NEW_IN_A_ROW);
    queue->new_in_a_row = takes_new ? queue->new_in_a_row + 1 : 0;
    struct ring *ring = &queue->rings[takes_new ? 0 : 1];
    struct machine *machine = TAILQ_FIRST(&ring->turns);
    struct entry *entry = STAILQ_FIRST(&machine->line);
    STAILQ_REMOVE_HEAD(&machine->line, behind);
    TAILQ_REMOVE(&ring->turns, machine, turn);
    if (STAILQ_EMPTY(&machine->line)) {
        LIST_REMOVE(machine, same);
        free(machine);
    } else {
        TAILQ_INSERT_TAIL(&ring->turns, machine, turn);
    }
    *waiting_out = entry->waiting;
    LIST_REMOVE(entry, same_id);
    free(entry);
    queue->count--;
    return true;
}

size_t sbx_triage_queue_count(const struct sbx_triage_queue *queue)
{
    return queue->count;
}

int64_t sbx_triage_anew_pause_ms(int64_t quiet_ms)
{
    enum {
        PAUSE_MS = 50,
        QUIET_MS = 500 /* on a busy server, uploads come at shorter intervals */
    };
    return quiet_ms < QUIET_MS ? PAUSE_MS : 0;
}
