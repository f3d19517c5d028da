/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_reader.c - decodes the ring's chunks into records of known threads.
 *
 * A record must never be shown under a thread that did not make it. An entry of the thread table is reused after its
 * thread has ended, so a chunk names the entry together with its generation. If the entry has another generation now,
 * the records go to an extra thread of which only the tid is known.
 *
 * A thread may have used several entries, one after the other (capture/calls/seat_turns.h), with the same generation
 * and tid on all of them. All its records go to the entry that it used last, or to one extra thread.
 *
 * A run of equal samples is kept in its thread's entry until it is written to the ring, and a copy may contain it in
 * both places (C3 of snapshot_copy.h). The record in the ring is then the later of the two and contains all looks, so
 * the entry's copy is left out. A run is identified by its thread, stack, kind and begin. The ring stores the begin
 * less exactly than the entry does; two runs of a thread are much farther apart than that. */
#include "chunk_reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "record_codec.h"
#include "sample_run.h"

/* Extra threads at most; a damaged file could name a new one in every chunk. */
enum {
    EXTRA_THREADS_MAX = 2 * SBX_THREADS_MAX
};

/* The former thread that an extra thread represents. */
struct extra_thread {
    uint32_t generation, tid;
    uint32_t index;      /* of the entry, if any_generation is set; else 0 */
    bool any_generation; /* known from an observer's record only: an earlier thread of that entry */
};

struct reading {
    struct sbx_snapshot *snapshot;
    size_t record_capacity;
    struct extra_thread *extras;
    uint32_t extra_count, thread_capacity;
    uint32_t *last_of; /* by entry: the entry that its thread used last; often the same */
};

/* ---- threads on several entries ---- */

struct sitting {
    uint32_t tid, generation, index;
    uint64_t since_ns;
};

static int compare_sittings(const void *left, const void *right)
{
    const struct sitting *a = left, *b = right;
    if (a->tid != b->tid) {
        return a->tid < b->tid ? -1 : 1;
    }
    if (a->generation != b->generation) {
        return a->generation < b->generation ? -1 : 1;
    }
    return (a->since_ns > b->since_ns) - (a->since_ns < b->since_ns);
}

static int find_last_entries(struct reading *reading, uint32_t entry_count)
{
    struct sitting *sittings = calloc((size_t)entry_count + 1, sizeof *sittings);
    reading->last_of = calloc((size_t)entry_count + 1, sizeof *reading->last_of);
    if (sittings == NULL || reading->last_of == NULL) {
        free(sittings);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < entry_count; i++) {
        const struct sbx_thread_entry *entry = &reading->snapshot->threads[i].entry;
        sittings[i] = (struct sitting){entry->tid, entry->generation, i, entry->born_ns};
    }
    qsort(sittings, entry_count, sizeof *sittings, compare_sittings);
    for (uint32_t i = entry_count, last = 0; i > 0; i--) {
        const struct sitting *at = &sittings[i - 1];
        if (i == entry_count || at->tid == 0 || at->tid != sittings[last].tid ||
            at->generation != sittings[last].generation) {
            last = i - 1;
        }
        reading->last_of[at->index] = sittings[last].index;
    }
    free(sittings);
    return 0;
}

/* The entry that a thread uses now; UINT32_MAX: none. */
static uint32_t find_entry(const struct reading *reading, uint32_t generation, uint32_t tid)
{
    const struct sbx_snapshot *snapshot = reading->snapshot;
    for (uint32_t i = 0; tid != 0 && i < snapshot->header.thread_count; i++) {
        const struct sbx_thread_entry *entry = &snapshot->threads[i].entry;
        if (entry->tid == tid && entry->generation == generation) {
            return reading->last_of[i];
        }
    }
    return UINT32_MAX;
}

/* ---- extra threads ---- */

/* Finds the index in snapshot->threads of a former thread, or of one that uses another entry now; UINT32_MAX if there
 * are too many. Returns 0 or -ENOMEM. */
static int find_extra(struct reading *reading, struct extra_thread wanted, uint32_t *thread_out)
{
    struct sbx_snapshot *snapshot = reading->snapshot;
    *thread_out = wanted.any_generation ? UINT32_MAX : find_entry(reading, wanted.generation, wanted.tid);
    if (*thread_out != UINT32_MAX) {
        return 0;
    }
    for (uint32_t i = 0; i < reading->extra_count; i++) {
        const struct extra_thread *extra = &reading->extras[i];
        if (extra->generation == wanted.generation && extra->tid == wanted.tid &&
            extra->any_generation == wanted.any_generation &&
            (!wanted.any_generation || extra->index == wanted.index)) {
            *thread_out = snapshot->header.thread_count + i;
            return 0;
        }
    }
    if (reading->extra_count == EXTRA_THREADS_MAX) {
        *thread_out = UINT32_MAX;
        return 0;
    }
    if (reading->extras == NULL) {
        reading->extras = malloc(EXTRA_THREADS_MAX * sizeof *reading->extras);
        if (reading->extras == NULL) {
            return -ENOMEM;
        }
    }
    if (snapshot->thread_count == reading->thread_capacity) {
        uint32_t capacity = reading->thread_capacity + 64;
        struct sbx_snapshot_thread *grown = realloc(snapshot->threads, capacity * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        snapshot->threads = grown;
        reading->thread_capacity = capacity;
    }
    reading->extras[reading->extra_count++] = wanted;
    *thread_out = snapshot->thread_count++;
    snapshot->threads[*thread_out] = (struct sbx_snapshot_thread){
        .entry = {.state = SBX_THREAD_DEAD, .tid = wanted.tid, .generation = wanted.generation},
        .index = UINT32_MAX,
    };
    return 0;
}

/* ---- records ---- */

static int append_record(struct reading *reading, const struct sbx_record *record)
{
    struct sbx_snapshot *snapshot = reading->snapshot;
    if (snapshot->record_count == reading->record_capacity) {
        size_t capacity = reading->record_capacity == 0 ? 256 : reading->record_capacity * 2;
        struct sbx_record *grown = realloc(snapshot->records, capacity * sizeof *grown);
        if (grown == NULL) {
            return -ENOMEM;
        }
        snapshot->records = grown;
        reading->record_capacity = capacity;
    }
    snapshot->records[snapshot->record_count++] = *record;
    return 0;
}

static bool is_sample_kind(unsigned kind)
{
    return kind == SBX_RECORD_ALLOC || kind == SBX_RECORD_LEAF || kind == SBX_RECORD_ASYNC ||
           kind == SBX_RECORD_BLOCKED;
}

/* Limits numbers that later become names: an unknown number becomes "none". Only samples repeat. */
static void tame(struct sbx_record *record)
{
    if (record->op >= SBX_OP_MAX) {
        record->op = SBX_OP_NONE;
    }
    if (record->fd_class > SBX_FD_LAST) {
        record->fd_class = SBX_FD_UNKNOWN;
    }
    if (!is_sample_kind(record->kind)) {
        record->repeats = 0;
    }
}

/* Decodes one readable chunk. `head` is an aligned copy of its fixed part, `bytes` are the bytes after it in the
 * file. */
static int read_chunk(struct reading *reading, const struct sbx_chunk *head, const uint8_t *bytes)
{
    struct sbx_snapshot *snapshot = reading->snapshot;
    const uint32_t entry_count = snapshot->header.thread_count;
    uint32_t own = UINT32_MAX; /* index of the chunk's own thread; looked up at its first record */
    struct sbx_codec_state state = sbx_codec_begin(head);
    struct sbx_record record;
    for (uint32_t at = 0; at < head->committed;) {
        size_t used = sbx_record_decode(&state, bytes + at, head->committed - at, &record);
        if (used == 0) {
            snapshot->drops[SBX_DROP_BAD_RECORD]++; /* once for the rest of the chunk: no next record can be found */
            return 0;
        }
        at += (uint32_t)used;
        if (record.begin_ns > record.end_ns || record.thread >= entry_count) {
            snapshot->drops[SBX_DROP_BAD_RECORD]++;
            continue;
        }
        tame(&record);
        const struct sbx_thread_entry *entry = &snapshot->threads[record.thread].entry;
        int error = 0;
        if (record.thread != head->thread) {
            /* An observer's record names an entry without its generation. If the record is from before the birth of the
             * entry's thread, it is about a former thread. */
            if (record.end_ns < entry->born_ns) {
                error = find_extra(reading, (struct extra_thread){.index = record.thread, .any_generation = true},
                                   &record.thread);
            } else {
                record.thread = reading->last_of[record.thread];
            }
        } else if (head->thread_generation != entry->generation) {
            if (own == UINT32_MAX) {
                struct extra_thread former = {.generation = head->thread_generation, .tid = head->tid};
                error = find_extra(reading, former, &own);
            }
            record.thread = own;
        } else {
            record.thread = reading->last_of[record.thread];
        }
        if (error == 0 && record.thread == UINT32_MAX) {
            snapshot->drops[SBX_DROP_NO_THREAD]++;
            continue;
        }
        if (error != 0 || (error = append_record(reading, &record)) != 0) {
            return error;
        }
    }
    return 0;
}

/* ---- runs that are not in the ring ---- */

/* Is a begin from the ring the begin of this run? The ring stores the begin of samples with an error of up to two units
 * (record_codec.h). */
static bool is_same_begin(const struct sbx_record *told, const struct sbx_record *run)
{
    return told->begin_ns - run->begin_ns + 2 * SBX_SAMPLE_UNIT_NS <= 4 * SBX_SAMPLE_UNIT_NS; /* either may be later */
}

static uint64_t in_units(uint64_t ns)
{
    return ns / SBX_TIME_UNIT_NS * SBX_TIME_UNIT_NS;
}

/* The record of a run, as if it had been written and decoded; false when there is nothing to report, or nothing
 * valid. */
static bool read_run(struct sbx_snapshot *snapshot, const struct sbx_repeat *run, uint32_t thread,
                     struct sbx_record *record_out)
{
    if (run->sequence % 2 != 0) {
        snapshot->drops[SBX_DROP_TORN_RUN]++;
        return false;
    }
    if (!sbx_run_tell(run, thread, record_out)) {
        return false;
    }
    if (!is_sample_kind(record_out->kind) || record_out->begin_ns > record_out->end_ns) {
        snapshot->drops[SBX_DROP_BAD_RECORD]++;
        return false;
    }
    record_out->begin_ns = in_units(record_out->begin_ns);
    record_out->end_ns = in_units(record_out->end_ns);
    record_out->cpu_ns = in_units(record_out->cpu_ns);
    record_out->flags &= (uint8_t)~SBX_FLAG_USAGE;
    tame(record_out);
    return true;
}

/* Finds the thread of a run: the entry's thread, or a former one if the entry was reused after its runs were copied. A
 * run that ended before the birth of the entry's thread also belongs to a former thread: the watch thread had looked at
 * that thread, and wrote the run when the next thread used the entry. */
static int find_owner(struct reading *reading, uint32_t index, struct sbx_record *record)
{
    const struct sbx_thread_entry *entry = &reading->snapshot->threads[index].entry;
    if (entry->run_generation == 0 || entry->run_generation == entry->generation) {
        if (record->end_ns < in_units(entry->born_ns)) {
            return find_extra(reading, (struct extra_thread){.index = index, .any_generation = true}, &record->thread);
        }
        record->thread = reading->last_of[index];
        return 0;
    }
    return find_extra(reading, (struct extra_thread){.generation = entry->run_generation, .tid = entry->run_tid},
                      &record->thread);
}

/* Fills pending[2 * entry_count]: own and observed run of each entry; kind NONE: no usable run. */
static int collect_runs(struct reading *reading, struct sbx_record *pending, uint32_t entry_count)
{
    struct sbx_snapshot *snapshot = reading->snapshot;
    for (uint32_t i = 0; i < 2 * entry_count; i++) {
        const struct sbx_thread_entry *entry = &snapshot->threads[i / 2].entry;
        if (!read_run(snapshot, i % 2 == 0 ? &entry->own : &entry->observed, i / 2, &pending[i])) {
            pending[i] = (struct sbx_record){.kind = SBX_RECORD_NONE};
            continue;
        }
        int error = find_owner(reading, i / 2, &pending[i]);
        if (error != 0) {
            return error;
        }
        if (pending[i].thread == UINT32_MAX) {
            snapshot->drops[SBX_DROP_NO_THREAD]++;
            pending[i].kind = SBX_RECORD_NONE;
        }
    }
    return 0;
}

/* Removes the runs that are also in the ring. */
static int leave_out_told(const struct sbx_snapshot *snapshot, struct sbx_record *pending, uint32_t entry_count)
{
    uint32_t *entry_of = calloc(snapshot->thread_count, sizeof *entry_of); /* by thread: entry + 1 of its runs */
    if (entry_of == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < 2 * entry_count; i++) {
        if (pending[i].kind != SBX_RECORD_NONE) {
            entry_of[pending[i].thread] = i / 2 + 1;
        }
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint32_t entry = entry_of[record->thread];
        for (uint32_t k = 0; k < 2 && entry != 0 && record->repeats != 0; k++) {
            struct sbx_record *run = &pending[2 * (entry - 1) + k];
            if (is_same_begin(record, run) && run->stack == record->stack && run->kind == record->kind) {
                run->kind = SBX_RECORD_NONE;
            }
        }
    }
    free(entry_of);
    return 0;
}

static int add_runs(struct reading *reading, uint32_t entry_count)
{
    struct sbx_record *pending = calloc(2 * (size_t)entry_count + 1, sizeof *pending);
    if (pending == NULL) {
        return -ENOMEM;
    }
    int error = collect_runs(reading, pending, entry_count);
    if (error == 0) {
        error = leave_out_told(reading->snapshot, pending, entry_count);
    }
    for (uint32_t i = 0; i < 2 * entry_count && error == 0; i++) {
        if (pending[i].kind != SBX_RECORD_NONE) {
            error = append_record(reading, &pending[i]);
        }
    }
    free(pending);
    return error;
}

/* ---- order ---- */

struct chunk_place {
    uint64_t turn;
    uint32_t index;
};

static int compare_places(const void *left, const void *right)
{
    const struct chunk_place *a = left, *b = right;
    return a->turn != b->turn ? (a->turn < b->turn ? -1 : 1) : (a->index > b->index) - (a->index < b->index);
}

struct record_key {
    uint64_t end_ns;
    size_t place; /* decides between equal times: the order of writing, which begins do not show */
};

static int compare_keys(const void *left, const void *right)
{
    const struct record_key *a = left, *b = right;
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? -1 : 1;
    }
    return (a->place > b->place) - (a->place < b->place);
}

/* Small keys are sorted, not the records: qsort() is not stable, and a record is four times as large. */
int sbx_records_sort(struct sbx_snapshot *snapshot)
{
    size_t count = snapshot->record_count;
    if (count == 0) {
        return 0;
    }
    struct record_key *keys = malloc(count * sizeof *keys);
    struct sbx_record *sorted = malloc(count * sizeof *sorted);
    if (keys == NULL || sorted == NULL) {
        free(keys);
        free(sorted);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        keys[i] = (struct record_key){snapshot->records[i].end_ns, i};
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = snapshot->records[keys[i].place];
    }
    free(keys);
    free(snapshot->records);
    snapshot->records = sorted;
    return 0;
}

/* ---- CPU time ---- */

/* A thread reports its CPU time from a linear estimate. While a hypervisor uses the processor the estimate runs ahead,
 * by a bounded amount (thread_clock.h), and then it is held until it is true again. The watch thread asks the kernel
 * instead, and a rough sample may be reported a little late (record_codec.h). So a value may be slightly less than one
 * that was reported before: then the earlier value is kept. A larger step back is not caused by clocks, and stays
 * visible for the reader. */
static int hold_cpu_times(struct sbx_snapshot *snapshot)
{
    uint64_t *told = calloc((size_t)snapshot->thread_count + 1, sizeof *told); /* by thread; 0: none yet */
    if (told == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        struct sbx_record *record = &snapshot->records[i];
        if (record->cpu_ns == 0) {
            continue; /* not read */
        }
        uint64_t *floor = &told[record->thread];
        if (record->cpu_ns < *floor && *floor - record->cpu_ns <= SBX_CLOCK_REBASE_NS) {
            record->cpu_ns = *floor;
        }
        *floor = record->cpu_ns;
    }
    free(told);
    return 0;
}

/* ---- allocations ---- */

enum {
    ROUGH_LOSS_MOST = 1 << 15 /* of a growth below 2^19, less than a sixteenth is omitted (record_codec.h) */
};

static void hold(uint64_t *now, uint64_t *floor, uint64_t most)
{
    if (*now < *floor && *floor - *now <= most) {
        *now = *floor;
    }
    *floor = *now;
}

/* A thread's own samples report a little less than it has allocated, and later samples catch up; a look from outside
 * reports everything. So a sample of the thread may seem to be behind an earlier look at it. A larger step back stays
 * visible for the reader. */
static int hold_allocations(struct sbx_snapshot *snapshot)
{
    struct told {
        uint64_t count, bytes;
    } *told = calloc((size_t)snapshot->thread_count + 1, sizeof *told); /* by thread */
    if (told == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        struct sbx_record *record = &snapshot->records[i];
        if (record->alloc_count == 0 && record->alloc_bytes == 0) {
            continue; /* not read */
        }
        hold(&record->alloc_count, &told[record->thread].count, ROUGH_LOSS_MOST);
        hold(&record->alloc_bytes, &told[record->thread].bytes, (uint64_t)ROUGH_LOSS_MOST * SBX_ALLOC_UNIT);
    }
    free(told);
    return 0;
}

/* ---- entry ---- */

/* Copies the fixed part of a chunk, because the bytes may be unaligned. */
static struct sbx_chunk *read_head(struct sbx_chunk *head, const uint8_t *chunk)
{
    memcpy(head, chunk, offsetof(struct sbx_chunk, bytes));
    return head;
}

int sbx_chunks_read(struct sbx_snapshot *snapshot, const uint8_t *chunks, uint32_t chunk_count)
{
    const uint32_t entry_count = snapshot->header.thread_count;
    struct reading reading = {.snapshot = snapshot, .thread_capacity = snapshot->thread_count};
    struct chunk_place *places = malloc(((size_t)chunk_count + 1) * sizeof *places);
    struct sbx_chunk head;
    uint32_t readable = 0;
    int error = 0;
    if (places == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < chunk_count; i++) {
        read_head(&head, chunks + (size_t)i * SBX_CHUNK_BYTES);
        if (!sbx_chunk_is_readable(head.state)) {
            continue;
        }
        if (head.committed > sizeof head.bytes) {
            snapshot->drops[SBX_DROP_BAD_RECORD]++;
            continue;
        }
        places[readable++] = (struct chunk_place){sbx_chunk_turn_of(head.state), i};
    }
    if (readable > 1) {
        qsort(places, readable, sizeof *places, compare_places);
    }
    error = find_last_entries(&reading, entry_count);
    for (uint32_t i = 0; i < readable && error == 0; i++) {
        const uint8_t *chunk = chunks + (size_t)places[i].index * SBX_CHUNK_BYTES;
        error = read_chunk(&reading, read_head(&head, chunk), chunk + offsetof(struct sbx_chunk, bytes));
    }
    if (error == 0) {
        error = add_runs(&reading, entry_count);
    }
    if (error == 0) {
        error = sbx_records_sort(snapshot);
    }
    if (error == 0) {
        error = hold_cpu_times(snapshot);
    }
    if (error == 0) {
        error = hold_allocations(snapshot);
    }
    free(reading.extras);
    free(reading.last_of);
    free(places);
    return error;
}
