/* SPDX-License-Identifier: Apache-2.0 */
/* work_notes.c - two tables: work that was queued, and work that was seen to run. */
#include "work_notes.h"

#include "order.h"
#include "the_capture.h"

enum {
    QUEUED_PLACES = 2048, /* at one item in 100 us, 200 ms of a thread that queues without a pause */
    RUN_PLACES = 64,      /* work that a run queues runs soon after: see seen_work.c */
    WORK_PROBES = 4,
    BUSY = 1 /* not a key */
};

struct place {
    uint64_t key; /* 0: free; BUSY: a thread is writing it */
    struct sbx_work_note note;
};

static struct place noted_work[QUEUED_PLACES];
static struct place noted_runs[RUN_PLACES];

SBX_SIGNAL_SAFE uint64_t sbx_work_key(uint64_t queue, uint64_t item)
{
    const struct sbx_recording_header *header = sbx_the_capture.header;
    uint64_t key = (queue ^ (uint64_t)header->pid << 32) * UINT64_C(0x9e3779b97f4a7c15);
    key = (key ^ key >> 29 ^ item) * UINT64_C(0xbf58476d1ce4e5b9); /* Steele, Lea, Flood: SplitMix64 */
    return (key ^ key >> 32) | 2;
}

SBX_SIGNAL_SAFE static void write_note(struct place *place, uint64_t key, const struct sbx_work_note *note)
{
    /* order: acquire work_place.key - the stores below come after those of the last note */
    if (sbx_swap_acq_rel(&place->key, BUSY) == BUSY) {
        return; /* WN3: the thread that writes it releases it */
    }
    sbx_store_relaxed(&place->note.at_ns, note->at_ns);
    sbx_store_relaxed(&place->note.message, note->message);
    sbx_store_relaxed(&place->note.stack, note->stack);
    sbx_store_relaxed(&place->note.tid, note->tid);
    sbx_store_relaxed(&place->note.op, note->op);
    sbx_store_relaxed(&place->note.group, note->group);
    sbx_store_release(&place->key, key); /* order: release work_place.key - the note is whole */
}

SBX_SIGNAL_SAFE static bool read_note(const struct place *place, uint64_t key, struct sbx_work_note *note_out)
{
    if (sbx_load_acquire(&place->key) != key) { /* order: acquire work_place.key - the note is whole */
        return false;
    }
    *note_out = (struct sbx_work_note){.at_ns = sbx_load_relaxed(&place->note.at_ns),
                                       .message = sbx_load_relaxed(&place->note.message),
                                       .stack = sbx_load_relaxed(&place->note.stack),
                                       .tid = sbx_load_relaxed(&place->note.tid),
                                       .op = sbx_load_relaxed(&place->note.op),
                                       .group = sbx_load_relaxed(&place->note.group)};
    sbx_fence_acquire(); /* order: acquire work_place.key - the second look comes after the copy */
    return sbx_load_relaxed(&place->key) == key;
}

static struct place *place_of(uint64_t key, uint32_t probe)
{
    return &noted_work[((key >> 8) + probe) % QUEUED_PLACES];
}

SBX_SIGNAL_SAFE void sbx_work_note_queued(uint64_t key, const struct sbx_work_note *note)
{
    struct place *place = NULL;
    uint64_t oldest_ns = UINT64_MAX;
    for (uint32_t i = 0; i < WORK_PROBES; i++) {
        struct place *at = place_of(key, i);
        uint64_t has = sbx_load_relaxed(&at->key); /* relaxed, like the time: any old one will do */
        uint64_t at_ns = has == 0 ? 0 : sbx_load_relaxed(&at->note.at_ns);
        if (has == key) {
            place = at;
            break;
        }
        if (has != BUSY && at_ns < oldest_ns) {
            oldest_ns = at_ns;
            place = at;
        }
    }
    if (place != NULL) {
        write_note(place, key, note);
    }
}

SBX_SIGNAL_SAFE bool sbx_work_find_queued(uint64_t key, struct sbx_work_note *note_out)
{
    for (uint32_t i = 0; i < WORK_PROBES; i++) {
        if (read_note(place_of(key, i), key, note_out)) {
            return true;
        }
    }
    return false;
}

SBX_SIGNAL_SAFE void sbx_work_note_run(uint64_t key, const struct sbx_work_note *note)
{
    write_note(&noted_runs[(key >> 8) % RUN_PLACES], key, note);
}

SBX_SIGNAL_SAFE bool sbx_work_find_run(uint64_t key, struct sbx_work_note *note_out)
{
    return read_note(&noted_runs[(key >> 8) % RUN_PLACES], key, note_out);
}

static void carry(struct place *place, uint32_t epoch)
{
    if (sbx_load_acquire(&place->key) <= BUSY) { /* order: acquire work_place.key - the note is whole */
        return;
    }
    uint32_t seen = sbx_load_acquire(&place->note.stack); /* order: acquire work_place.stack - its nodes are there */
    uint32_t carried = sbx_callstack_carry(&sbx_the_capture.table, epoch - 1, epoch, seen);
    /* order: release work_place.stack - the new nodes. If the place has another note by now, that note's stack
     * stays. */
    (void)(carried == seen || sbx_cas_acq_rel(&place->note.stack, &seen, carried));
}

void sbx_work_notes_carry(uint32_t epoch)
{
    for (uint32_t i = 0; i < QUEUED_PLACES; i++) {
        carry(&noted_work[i], epoch);
    }
    for (uint32_t i = 0; i < RUN_PLACES; i++) {
        carry(&noted_runs[i], epoch);
    }
}
