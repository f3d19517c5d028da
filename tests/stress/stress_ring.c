/* SPDX-License-Identifier: Apache-2.0 */
/* stress_ring.c - the recording with more writers than cores, with signals, dying threads, snapshots, turning epochs,
 * and chunks that are taken back from working writers.
 *
 *   stress_ring [SECONDS]      1.5 by default
 *
 * Tries to break: C1 and C2 of snapshot_copy.h (a copied record is complete, and what it refers to exists), the claim
 * and the revocation of chunks (docs/MEMORY_ORDERING.md, A.3 to A.6), the interning of stacks (B.1 to B.4), and the
 * rule that a record is never shown under a thread that did not make it, or twice. Every field of a record is
 * calculated from its maker's tid and a number, so that each record can be checked when it is read back. Prints what
 * was put, lost and kept, and how old and how stale a snapshot is. Exits with 1 at the first record that was never
 * written, and when the counts do not add up. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "order.h"
#include "recording_builder.h"
#include "snapshot_copy.h"

enum {
    WRITERS = 12,
    OBSERVER = WRITERS, /* entry of the thread that writes about others; reads no CPU times: its own series of
                         * numbers would be compared with the other's */
    OBSERVER_TID = 7,
    STACKS = 4000,
    DEPTH = 8,
    LIFE_RECORDS = 20000, /* records until a writer ends and its entry goes to another thread */
    SAMPLE_SIGNAL = SIGUSR1,
    TURN_EVERY = 10 /* ticks of half a millisecond: 256 epochs must outlast the reader's slack, as in real use */
};

struct writer {
    uint32_t index;
    uint32_t tid; /* not the kernel's tid, but a number for each life */
    uint64_t number;
    uint32_t inside; /* not 0: the handler must not write */
    uint64_t made, put, dropped, nested, from_handler;
    pthread_t thread;
    uint32_t running;  /* 1: `thread` may be signalled */
    uint32_t finished; /* 1: this life will write no more */
};

static struct sbx_recording_builder *the_builder;
static struct writer writers[WRITERS];
static uint32_t stop;
static bool has_membarrier;
static uint32_t next_tid = 1000;
static __thread struct writer *self;

static _Noreturn void __attribute__((format(printf, 1, 2))) broken(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("stress_ring: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(1);
}

/* ---- what is written ---- */

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 29;
}

static uint64_t frame_of(uint64_t seed, uint32_t level)
{
    return sbx_frame_word(level % 2, 0x1000 + (seed >> level) * 16 + level, 0);
}

static uint64_t proof_of(const struct sbx_record *record, uint32_t tid)
{
    return mixed(record->end_ns ^ mixed(record->begin_ns ^ mixed(record->cpu_ns ^ mixed(record->amount ^ tid)))) ^
           mixed(record->alloc_count + record->alloc_bytes * 3 + record->message * 7 + record->kind);
}

static struct sbx_record make_record(uint32_t tid, uint64_t number, uint32_t thread, uint8_t kind)
{
    uint64_t noise = mixed(number ^ (uint64_t)tid << 32);
    struct sbx_record record = {.kind = kind,
                                .op = SBX_OP_READ,
                                .thread = thread,
                                .peer = tid,
                                .end_ns = sbx_now_ns() / SBX_TIME_UNIT_NS * SBX_TIME_UNIT_NS,
                                .cpu_ns = tid == OBSERVER_TID ? 0 : (number * 9 + noise % 5) * SBX_TIME_UNIT_NS,
                                .alloc_count = tid == OBSERVER_TID ? 0 : number * 3,
                                .alloc_bytes = tid == OBSERVER_TID ? 0 : number * 7000 + noise % 7000,
                                .message = number / 100,
                                .amount = number};
    record.begin_ns = record.end_ns - noise % 4 * 8 * SBX_TIME_UNIT_NS;
    record.object = proof_of(&record, tid);
    uint32_t frame_ids[DEPTH], epoch = sbx_callstack_epoch(&the_builder->table);
    for (uint32_t level = 0; level < DEPTH; level++) {
        frame_ids[level] = sbx_frame_intern(&the_builder->table, epoch, frame_of(number % STACKS, level));
    }
    record.stack = sbx_callstack_intern(&the_builder->table, epoch, frame_ids, DEPTH);
    return record;
}

static void write_one(struct writer *writer, uint8_t kind)
{
    const struct sbx_thread_entry *entry = &the_builder->threads[writer->index];
    struct sbx_record record = make_record(writer->tid, writer->number++, writer->index, kind);
    writer->made++;
    if (sbx_ring_put(&the_builder->ring, &the_builder->writers[writer->index], writer->index, entry->generation,
                     writer->tid, &record) != 0) {
        writer->put++;
    } else {
        writer->dropped++;
    }
}

static void sample(int signal_number)
{
    (void)signal_number;
    int saved_errno = errno;
    struct writer *writer = self;
    if (writer != NULL) {
        if (writer->inside != 0) {
            if (++writer->nested % 4 == 0) {
                usleep(3000); /* stops in the middle of a record, for longer than one lap of the ring */
            }
        } else {
            sbx_store_relaxed(&writer->inside, 1); /* relaxed: as capture does it; the fence is membarrier's */
            sbx_order_with_handler();
            write_one(writer, SBX_RECORD_ASYNC);
            writer->from_handler++;
            sbx_order_with_handler();
            sbx_store_release(&writer->inside, 0); /* order: release inside */
        }
    }
    errno = saved_errno;
}

/* ---- threads ---- */

/* A new life of the writer's entry, as the thread registry begins one. */
static void begin_life(struct writer *writer)
{
    struct sbx_thread_entry *entry = &the_builder->threads[writer->index];
    sbx_ring_close(&the_builder->writers[writer->index]);
    sbx_store_relaxed(&entry->tid, 0); /* relaxed: the release of generation comes after it */
    sbx_store_release(&entry->generation, entry->generation + 1); /* order: release entry.generation */
    sbx_store_relaxed(&entry->born_ns, sbx_now_ns());             /* relaxed: a snapshot compares it, see C.2 */
    writer->tid = sbx_add_relaxed(&next_tid, 1);
    writer->number = 1;
    writer->finished = 0;
    sbx_store_release(&writer->inside, 0);       /* order: release inside */
    sbx_store_release(&entry->tid, writer->tid); /* order: release entry.tid - the entry is this life's now */
}

static void *write_for_a_life(void *argument)
{
    struct writer *writer = argument;
    for (uint64_t i = 0; i < LIFE_RECORDS && sbx_load_relaxed(&stop) == 0; i++) {
        sbx_store_relaxed(&writer->inside, 1); /* relaxed: as capture does it; the fence is membarrier's */
        sbx_order_with_handler();
        self = writer;
        write_one(writer, SBX_RECORD_FILE);
        sbx_order_with_handler();
        /* order: release inside - a plain store in capture; released here for the thread sanitizer, which knows no
         * membarrier */
        sbx_store_release(&writer->inside, 0);
        if (i % 64 == 0) {
            usleep(50); /* lets other threads run; signals find it outside of the recorder's code */
        }
    }
    sbx_store_relaxed(&writer->inside, 1); /* what follows runs in the destructor */
    sbx_order_with_handler();
    sbx_store_release(&writer->finished, 1); /* order: release writer.finished */
    return NULL;
}

static void *keep_writer_alive(void *argument)
{
    struct writer *writer = argument;
    while (sbx_load_relaxed(&stop) == 0) {
        begin_life(writer);
        if (pthread_create(&writer->thread, NULL, write_for_a_life, writer) != 0) {
            broken("no thread");
        }
        sbx_store_release(&writer->running, 1);            /* order: release writer.running - `thread` is set */
        while (sbx_load_acquire(&writer->finished) == 0) { /* order: acquire writer.finished; a stop finishes it too */
            usleep(1000);
        }
        sbx_swap_acq_rel(&writer->running, 0); /* order: release writer.running */
        usleep(2000);                          /* a signal that is under way still finds the thread */
        if (pthread_join(writer->thread, NULL) != 0) {
            broken("no join");
        }
    }
    return NULL;
}

static void *send_signals(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; sbx_load_relaxed(&stop) == 0; i++) {
        struct writer *writer = &writers[i % WRITERS];
        if (sbx_load_acquire(&writer->running) != 0) { /* order: acquire writer.running */
            pthread_kill(writer->thread, SAMPLE_SIGNAL);
        }
        usleep(100);
    }
    return NULL;
}

struct upkeep {
    uint64_t turns, revoked, sealed, observed, dropped;
};

static bool fence_all_threads(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* Take chunks back from working writers, with the steps of capture/recording_upkeep.c. */
static void take_chunks_back(uint64_t first, struct upkeep *upkeep)
{
    enum {
        MOST = 4
    };
    struct {
        struct sbx_chunk *chunk;
        uint64_t word;
        bool is_out;
    } batch[MOST];
    uint32_t count = 0;
    for (uint32_t i = 0; i < the_builder->ring.chunk_count && count < MOST; i++) {
        struct sbx_chunk *chunk = &the_builder->chunks[(first * 7 + i) % the_builder->ring.chunk_count];
        uint64_t word = sbx_load_acquire(&chunk->state); /* order: acquire chunk.state */
        if (sbx_chunk_state_of(word) == SBX_CHUNK_REVOKED ||
            (sbx_chunk_state_of(word) == SBX_CHUNK_OPEN && sbx_load_relaxed(&chunk->thread) != OBSERVER &&
             sbx_ring_revoke(chunk, word))) {
            batch[count].chunk = chunk;
            batch[count++].word = word;
        }
    }
    if (count == 0 || !fence_all_threads()) {
        return;
    }
    upkeep->revoked += count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t thread = sbx_load_relaxed(&batch[i].chunk->thread);
        batch[i].is_out =
            thread < WRITERS && sbx_load_acquire(&writers[thread].inside) == 0; /* order: acquire inside */
    }
    if (!fence_all_threads()) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (batch[i].is_out) {
            sbx_ring_seal(batch[i].chunk, batch[i].word);
            upkeep->sealed++;
        }
    }
}

/* The watch thread: turns epochs, takes chunks back, writes about others, ticks. */
static void *watch(void *result)
{
    struct upkeep *upkeep = result;
    for (uint64_t i = 1; sbx_load_relaxed(&stop) == 0; i++) {
        sbx_store_relaxed(&the_builder->header->heartbeat_ns, sbx_now_ns()); /* relaxed: statistics */
        if (i % TURN_EVERY == 0) {
            upkeep->turns += (uint64_t)sbx_callstack_table_turn_if_full(&the_builder->table);
        }
        if (has_membarrier) {
            take_chunks_back(i, upkeep);
        }
        struct sbx_record record = make_record(OBSERVER_TID, i, (uint32_t)(i % WRITERS), SBX_RECORD_BLOCKED);
        upkeep->observed++;
        upkeep->dropped +=
            sbx_ring_put(&the_builder->ring, &the_builder->writers[OBSERVER], OBSERVER, 1, OBSERVER_TID, &record) == 0;
        usleep(500);
    }
    return NULL;
}

/* ---- what is read ---- */

struct found {
    uint64_t copies, records, resolved, stale, overflow, torn, observed, extra_threads;
    uint64_t copy_ns_max, age_ns_min, age_ns_max; /* age: of the oldest record in a copy */
    uint64_t stale_ns_max;                        /* by how much its newest record is older than the copy's begin */
};

/* The records of each maker must come in the order in which they were made, and none twice. */
static void check_order(const struct sbx_snapshot *snapshot)
{
    enum {
        MAKERS = 1 << 16
    };
    static struct {
        uint32_t tid;
        uint64_t copy, number;
    } last[MAKERS];
    static uint64_t copy;
    copy++;
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint32_t seat = record->peer % MAKERS;
        if (last[seat].copy == copy && last[seat].tid == record->peer && last[seat].number >= record->amount) {
            broken("record %llu of %u comes after its record %llu", (unsigned long long)record->amount, record->peer,
                   (unsigned long long)last[seat].number);
        }
        last[seat].copy = copy;
        last[seat].tid = record->peer;
        last[seat].number = record->amount;
    }
}

static void check_record(const struct sbx_snapshot *snapshot, const struct sbx_record *record, struct found *found)
{
    const struct sbx_snapshot_thread *thread = &snapshot->threads[record->thread];
    if (record->object != proof_of(record, record->peer)) {
        broken("record %llu of %u is not as it was written", (unsigned long long)record->amount, record->peer);
    }
    if (record->kind == SBX_RECORD_BLOCKED) {
        found->observed++;
    } else if (thread->entry.tid != record->peer) {
        broken("record of %u shown under %u", record->peer, thread->entry.tid);
    }
    if (record->stack == SBX_STACK_OVERFLOW) {
        found->overflow++;
        return;
    }
    uint64_t frames[DEPTH];
    size_t count = sbx_snapshot_stack(snapshot, record->stack, frames, DEPTH);
    if (record->stack == SBX_STACK_NONE) {
        return; /* stale; the reader counts it */
    }
    if (count != DEPTH) {
        broken("stack %08x has %zu frames", record->stack, count);
    }
    for (uint32_t level = 0; level < DEPTH; level++) {
        if (frames[level] != frame_of(record->amount % STACKS, level)) {
            broken("stack %08x is another record's", record->stack);
        }
    }
    found->resolved++;
}

static void copy_and_check(struct found *found)
{
    static uint64_t scratch[SBX_COPY_SCRATCH_MIN / sizeof(uint64_t)];
    static const uint8_t id[16] = {1};
    char path[32], why[128];
    struct sbx_snapshot *snapshot;
    int fd = memfd_create("stress_ring", MFD_CLOEXEC);
    if (fd < 0) {
        broken("memfd: %s", strerror(errno));
    }
    uint64_t begin_ns = sbx_now_ns();
    int error = sbx_snapshot_copy(the_builder->header, fd, NULL, id, begin_ns, scratch, sizeof scratch);
    uint64_t copy_ns = sbx_now_ns() - begin_ns;
    if (error != 0) {
        broken("copy: %s", strerror(-error));
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (sbx_snapshot_read_file(path, &snapshot, why, sizeof why) != 0) {
        broken("the copy %s", why);
    }
    close(fd);
    if (snapshot->drops[SBX_DROP_BAD_RECORD] != 0) {
        broken("%llu bad records", (unsigned long long)snapshot->drops[SBX_DROP_BAD_RECORD]);
    }
    for (size_t i = 0; i < snapshot->record_count; i++) {
        check_record(snapshot, &snapshot->records[i], found);
    }
    check_order(snapshot);
    if (snapshot->record_count > 0) {
        uint64_t age_ns = begin_ns > snapshot->records[0].end_ns ? begin_ns - snapshot->records[0].end_ns : 0;
        found->age_ns_min = found->age_ns_min == 0 || age_ns < found->age_ns_min ? age_ns : found->age_ns_min;
        found->age_ns_max = age_ns > found->age_ns_max ? age_ns : found->age_ns_max;
        uint64_t newest_ns = snapshot->records[snapshot->record_count - 1].end_ns;
        uint64_t stale_ns = begin_ns > newest_ns ? begin_ns - newest_ns : 0;
        found->stale_ns_max = stale_ns > found->stale_ns_max ? stale_ns : found->stale_ns_max;
    }
    found->copies++;
    found->records += snapshot->record_count;
    found->torn += snapshot->drops[SBX_DROP_TORN_CHUNK];
    found->stale += snapshot->drops[SBX_DROP_STALE_STACK];
    found->extra_threads += snapshot->thread_count - (WRITERS + 1);
    found->copy_ns_max = copy_ns > found->copy_ns_max ? copy_ns : found->copy_ns_max;
    sbx_snapshot_destroy(snapshot);
}

int main(int argc, char **argv)
{
    char *end = NULL;
    double seconds = argc > 1 ? strtod(argv[1], &end) : 1.5;
    if (argc > 2 || (end != NULL && *end != 0) || !(seconds > 0)) {
        fprintf(stderr, "usage: %s [SECONDS]\n", argv[0]);
        return 2;
    }
    /* Few chunks and nodes, so that everything is recycled all the time. */
    struct sbx_recording_shape shape = {4, 32, 16384, 8192, 20, 16};
    the_builder = sbx_recording_builder_create(shape, NULL);
    has_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    sbx_recording_add_module(the_builder, "/usr/bin/application", 0x550000000000, 0x100000, SBX_MODULE_MAIN);
    sbx_recording_add_module(the_builder, "/usr/lib/libc.so.6", 0x7f0000000000, 0x100000, 0);
    pthread_t keepers[WRITERS], signaller, watcher;
    struct upkeep upkeep = {0};
    struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    bool started = sigaction(SAMPLE_SIGNAL, &action, NULL) == 0;
    for (uint32_t i = 0; i <= WRITERS; i++) {
        sbx_recording_add_thread(the_builder, i == OBSERVER ? OBSERVER_TID : 0, i == OBSERVER ? "watch" : "writer",
                                 i == 0);
    }
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i].index = i;
        started = started && pthread_create(&keepers[i], NULL, keep_writer_alive, &writers[i]) == 0;
    }
    started = started && pthread_create(&signaller, NULL, send_signals, NULL) == 0 &&
              pthread_create(&watcher, NULL, watch, &upkeep) == 0;
    if (!started) {
        broken("no threads");
    }
    struct found found = {0};
    uint64_t until_ns = sbx_now_ns() + (uint64_t)(seconds * 1e9);
    while (sbx_now_ns() < until_ns) {
        copy_and_check(&found);
        usleep(5000);
    }
    sbx_store_relaxed(&stop, 1);
    uint64_t made = 0, put = 0, dropped = 0, nested = 0, from_handler = 0;
    for (uint32_t i = 0; i < WRITERS; i++) {
        pthread_join(keepers[i], NULL);
        made += writers[i].made;
        put += writers[i].put;
        dropped += writers[i].dropped;
        nested += writers[i].nested;
        from_handler += writers[i].from_handler;
    }
    pthread_join(signaller, NULL);
    pthread_join(watcher, NULL);
    uint64_t in_copies = found.records, observed_in_copies = found.observed;
    copy_and_check(&found); /* no writer is left: a missing record was overwritten or dropped */
    uint64_t kept = found.records - in_copies - (found.observed - observed_in_copies);
    const uint64_t *drops = the_builder->header->drops;
    printf("made %llu (%llu by handlers), %.2f million a second, %llu lives\n", (unsigned long long)made,
           (unsigned long long)from_handler, (double)made / seconds / 1e6, (unsigned long long)(next_tid - 1000));
    printf("put %llu = kept %llu + overwritten %llu; dropped for want of a chunk %llu; signals that found their thread "
           "inside %llu; stack overflow %llu, frame overflow %llu\n",
           (unsigned long long)put, (unsigned long long)kept, (unsigned long long)(put - kept),
           (unsigned long long)dropped, (unsigned long long)nested, (unsigned long long)drops[SBX_DROP_STACK_OVERFLOW],
           (unsigned long long)drops[SBX_DROP_FRAME_OVERFLOW]);
    printf("chunks taken from writers: %llu revoked, %llu of them given free at once%s; epochs turned %llu\n",
           (unsigned long long)upkeep.revoked, (unsigned long long)upkeep.sealed,
           has_membarrier ? "" : " (membarrier is refused here)", (unsigned long long)upkeep.turns);
    printf(
        "read %llu in %llu copies: stacks resolved %llu, stale %llu, overflowed %llu; torn chunks %llu, observed %llu, "
        "former threads %llu\n",
        (unsigned long long)found.records, (unsigned long long)found.copies, (unsigned long long)found.resolved,
        (unsigned long long)found.stale, (unsigned long long)found.overflow, (unsigned long long)found.torn,
        (unsigned long long)found.observed, (unsigned long long)found.extra_threads);
    printf("oldest record in a copy: %.1f to %.1f ms old; newest at most %.2f ms old; slowest copy %.2f ms\n",
           (double)found.age_ns_min / 1e6, (double)found.age_ns_max / 1e6, (double)found.stale_ns_max / 1e6,
           (double)found.copy_ns_max / 1e6);
    if (made != put + dropped || dropped + upkeep.dropped != drops[SBX_DROP_NO_CHUNK] || kept == 0 || kept > put ||
        found.resolved + found.stale + found.overflow != found.records) {
        broken("the counts do not add up");
    }
    if (put == 0 || from_handler == 0 || upkeep.turns == 0 || found.resolved == 0 ||
        (has_membarrier && upkeep.sealed == 0)) {
        broken("not everything was tried");
    }
    sbx_recording_builder_destroy(the_builder);
    return 0;
}
