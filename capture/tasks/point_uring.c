/* SPDX-License-Identifier: Apache-2.0 */
/* point_uring.c - io_uring, where liburing is a shared library: which thread submitted a request, and the wait for its
 * completion.
 *
 * Only some calls of liburing use a slot: submissions, and waits that really wait. Code of the header, inside the
 * program, prepares requests and takes completions that are already there. But both rings are mapped. So a submission
 * finds the requests that were prepared since the last one, and any call finds the completions that were taken since
 * the last one. Both sides have the request's user_data, which is the key of its task together with the ring. Two
 * requests with the same user_data are taken in the order of their submission. A ring is one queue. All taken
 * completions are counted, even when the kernel has written over a completion since and it is not known which one it
 * was.
 *
 * The task of a completion that a wait returned lasts until the thread makes another call for this ring. In a thread
 * with a message loop it is only recorded as taken. Completions that were taken in between were over when they were
 * found.
 *
 * The code uses only those parts of liburing's structs that version 2 keeps (liburing.h), and of io_uring what the
 * kernel keeps (linux/io_uring.h). None of their headers is used. */
#include "point.h"
#include "process_state.h"
#include "task.h"

#include <errno.h>

struct ring {
    struct {
        const uint32_t *kernel_head, *kernel_tail, *mask, *entries, *flags, *dropped, *array;
        const struct request *requests;
        uint32_t head, tail; /* prepared requests: from head to tail */
        size_t bytes;
        void *memory;
        uint32_t reserved[4];
    } submissions;
    struct {
        const uint32_t *head, *tail, *mask, *entries, *flags, *overflow;
        const struct completion *completions;
        size_t bytes;
        void *memory;
        uint32_t reserved[4];
    } completed;
    uint32_t flags;
};

struct request {
    uint8_t operation, flags;
    uint16_t priority;
    int32_t descriptor;
    uint64_t other[3];
    uint64_t user_data;
    uint64_t more[3];
};
static_assert(sizeof(struct request) == 64, "as the kernel has it");

struct completion {
    uint64_t user_data;
    int32_t result;
    uint32_t flags;
};
static_assert(sizeof(struct completion) == 16, "as the kernel has it");

enum {
    LARGE_REQUESTS = 1 << 10,    /* ring flags: IORING_SETUP_SQE128 */
    LARGE_COMPLETIONS = 1 << 11, /* IORING_SETUP_CQE32 */
    OF_A_TABLE = 1,              /* request flags: its descriptor is an index into a table (IOSQE_FIXED_FILE) */
    IS_SILENT = 1 << 6,          /* IOSQE_CQE_SKIP_SUCCESS */
    MORE_FOLLOW = 2,             /* completion flags: IORING_CQE_F_MORE */
    RINGS = 64,
    PROBES = 8,
    MOST = 65536, /* no ring has as many: the memory is not a ring */
};
#define OF_LIBURING UINT64_MAX /* user_data of liburing's own time-outs */

static const void *real_io_uring_mlock_size; /* exists from 2.1 on; never called */

/* What is known of a ring. Programs must let only one thread at a time submit and only one take; these may be two
 * different threads. */
static struct known {
    uint64_t ring; /* 0: free */
    uint32_t is_busy;
    uint32_t taken; /* completions that were noticed, counted like the ring's */
    uint32_t begun; /* number of the one that began before it was taken; only with `has_begun` */
    uint32_t has_begun;
    uint8_t kind; /* of a wait for the last request: enum sbx_record_kind */
    int32_t descriptor;
} rings[RINGS];
SBX_OF_ONE_PROCESS(rings); /* the tasks belong to the parent */

static uint64_t key_of(const struct ring *ring, uint64_t user_data)
{
    return ((user_data * UINT64_C(0x9e6c63d0876a9a47)) ^ ((uint64_t)(uintptr_t)ring * UINT64_C(0xd1342543de82ef95))) |
           1;
}

static struct known *place_of(const struct ring *ring, uint32_t probe)
{
    return &rings[((uint32_t)((uint64_t)(uintptr_t)ring * UINT64_C(0x9e3779b97f4a7c15) >> 40) + probe) % RINGS];
}

static struct known *find_known(const struct ring *ring)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct known *known = place_of(ring, i);
        if (sbx_load_acquire(&known->ring) == (uint64_t)(uintptr_t)ring) { /* order: acquire rings.ring - it is whole */
            return known;
        }
    }
    return NULL;
}

/* The same, or a new entry. NULL: there is no room. */
static struct known *find(const struct ring *ring)
{
    struct known *found = find_known(ring);
    for (uint32_t i = 0; found == NULL && i < PROBES; i++) {
        struct known *known = place_of(ring, i);
        uint64_t nobody = 0;
        if (sbx_load_relaxed(&known->ring) == 0 &&       /* relaxed: the exchange looks again */
            sbx_cas_acq_rel(&known->ring, &nobody, 1)) { /* order: acq_rel rings.ring - one thread takes it */
            known->taken = sbx_load_relaxed(ring->completed.head);
            known->has_begun = 0;
            known->kind = SBX_RECORD_FILE;
            known->descriptor = -1;
            sbx_store_relaxed(&known->is_busy, 0);
            sbx_store_release(&known->ring, (uint64_t)(uintptr_t)ring); /* order: release rings.ring */
            found = known;
        }
    }
    return found;
}

static bool is_known_layout(const struct ring *ring)
{
    return sbx_capture_is_open() && real_io_uring_mlock_size != NULL && ring != NULL &&
           ring->submissions.requests != NULL && ring->submissions.mask != NULL && ring->completed.head != NULL &&
           ring->completed.mask != NULL && ring->completed.completions != NULL;
}

/* ---- what was taken ---- */

static void end_begun(const struct ring *ring)
{
    struct sbx_thread *thread = sbx_self;
    if (sbx_thread_is_registered(thread) && SBX_UNLIKELY(thread->tasks.popped != 0) &&
        thread->tasks.popped_from == (uint64_t)(uintptr_t)ring) {
        sbx_task_end(thread->tasks.popped);
        thread->tasks.popped = 0;
    }
}

static const struct completion *completion_at(const struct ring *ring, uint32_t number)
{
    uint32_t shift = (ring->flags & LARGE_COMPLETIONS) != 0 ? 1 : 0;
    return &ring->completed.completions[(size_t)(number & *ring->completed.mask) << shift];
}

/* The task of a completion begins. Returns the task if it is followed and this completion is the request's last one. */
static uint64_t begin(const struct ring *ring, const struct completion *completion)
{
    uint64_t user_data = sbx_load_relaxed(&completion->user_data); /* relaxed: the kernel may write over a taken one */
    uint32_t flags = sbx_load_relaxed(&completion->flags);
    if (user_data == OF_LIBURING) {
        return 0;
    }
    uint64_t task = sbx_task_find(key_of(ring, user_data), 0);
    if (task == 0) {
        if ((flags & MORE_FOLLOW) == 0) {
            sbx_task_begin_uncounted((uint64_t)(uintptr_t)ring);
        }
        return 0;
    }
    if (sbx_load_relaxed(&completion->result) == -ECANCELED) {
        sbx_task_cancelled(task);
        return 0;
    }
    sbx_task_begin(task);
    if ((flags & MORE_FOLLOW) != 0) {
        (void)sbx_task_end_and_queue(task);
        return 0;
    }
    return task;
}

/* The completions that were taken since the last look are over. */
static void note_taken(struct known *known, const struct ring *ring)
{
    uint32_t head = sbx_load_acquire(ring->completed.head); /* order: acquire ring.head */
    uint32_t count = head - known->taken;
    for (uint32_t i = 0; i < count && count < MOST; i++) {
        uint32_t number = known->taken + i;
        if (known->has_begun && number == known->begun) {
            known->has_begun = 0;
            continue;
        }
        sbx_task_end(begin(ring, completion_at(ring, number)));
    }
    known->taken = head;
}

/* A wait has returned this completion. */
static void note_handed_over(const struct ring *ring, const struct completion *completion)
{
    struct known *known = is_known_layout(ring) && completion != NULL ? find_known(ring) : NULL;
    uint32_t nobody = 0;
    if (known == NULL || !sbx_cas_acq_rel(&known->is_busy, &nobody, 1)) { /* order: acq_rel rings.is_busy */
        return;
    }
    uint32_t number = sbx_load_relaxed(ring->completed.head); /* relaxed: this thread's own */
    if (completion == completion_at(ring, number) && !(known->has_begun && known->begun == number)) {
        struct sbx_thread *thread = sbx_self;
        uint64_t task = begin(ring, completion);
        known->begun = number;
        known->has_begun = 1;
        if (task != 0 && sbx_thread_is_registered(thread) && !thread->has_loop && thread->tasks.popped == 0) {
            thread->tasks.popped = task;
            thread->tasks.popped_from = (uint64_t)(uintptr_t)ring;
        } else {
            sbx_task_end(task);
        }
    }
    sbx_store_release(&known->is_busy, 0); /* order: release rings.is_busy */
}

/* ---- requests that are submitted ---- */

static uint8_t kind_of(uint8_t operation)
{
    switch (operation) { /* enum io_uring_op */
    case 6:              /* POLL_ADD */
        return SBX_RECORD_POLL;
    case 11: /* TIMEOUT */
        return SBX_RECORD_SLEEP;
    case 9:  /* SENDMSG */
    case 10: /* RECVMSG */
    case 13: /* ACCEPT */
    case 16: /* CONNECT */
    case 26: /* SEND */
    case 27: /* RECV */
    case 34: /* SHUTDOWN */
    case 47: /* SEND_ZC */
    case 48: /* SENDMSG_ZC */
        return SBX_RECORD_SOCKET;
    default:
        return SBX_RECORD_FILE;
    }
}

static void note_submitted(struct known *known, const struct ring *ring)
{
    uint32_t count = ring->submissions.tail - ring->submissions.head;
    uint32_t shift = (ring->flags & LARGE_REQUESTS) != 0 ? 1 : 0;
    for (uint32_t i = 0; i < count && count < MOST; i++) {
        const struct request *request =
            &ring->submissions.requests[(size_t)((ring->submissions.head + i) & *ring->submissions.mask) << shift];
        if (request->user_data != OF_LIBURING && (request->flags & IS_SILENT) == 0) {
            known->kind = kind_of(request->operation);
            known->descriptor = (request->flags & OF_A_TABLE) == 0 ? request->descriptor : -1;
            (void)sbx_task_queued(SBX_GROUP_URING, SBX_OP_IO_URING_SUBMIT, (uint64_t)(uintptr_t)ring,
                                  key_of(ring, request->user_data), 0);
        }
    }
}

/* A call for this ring begins. */
static struct known *note_call(const struct ring *ring, bool submits)
{
    if (!is_known_layout(ring)) {
        return NULL;
    }
    end_begun(ring);
    struct known *known = find(ring);
    uint32_t nobody = 0;
    if (known == NULL || !sbx_cas_acq_rel(&known->is_busy, &nobody, 1)) { /* order: acq_rel rings.is_busy */
        return known;
    }
    note_taken(known, ring);
    if (submits) {
        note_submitted(known, ring);
    }
    sbx_store_release(&known->is_busy, 0); /* order: release rings.is_busy */
    return known;
}

/* ---- the calls ---- */

#define SUBMITS(name)                         \
    static int (*real_##name)(struct ring *); \
    static int hook_##name(struct ring *ring) \
    {                                         \
        (void)note_call(ring, true);          \
        return real_##name(ring);             \
    }
SUBMITS(io_uring_submit)
SUBMITS(io_uring_submit_and_get_events)

/* A call that may wait for `count` completions. The first one is returned at `first`. */
#define WAITS(name, parameters, arguments, submits, count, first)                                                    \
    static int(*real_##name) parameters;                                                                             \
    static int hook_##name parameters                                                                                \
    {                                                                                                                \
        const struct known *known = note_call(ring, submits);                                                        \
        if (known == NULL || (count) == 0) {                                                                         \
            return real_##name arguments;                                                                            \
        }                                                                                                            \
        struct sbx_blocking call;                                                                                    \
        int descriptor = known->descriptor;                                                                          \
        SBX_SAVE_FRAME_POINTER();                                                                                    \
        sbx_blocking_begin(&call, SBX_GROUP_URING, known->kind, SBX_OP_IO_URING_WAIT, (uint64_t)(uintptr_t)ring, 0); \
        int result = real_##name arguments;                                                                          \
        sbx_blocking_end(&call, 0, result < 0, descriptor);                                                          \
        if (result >= 0) {                                                                                           \
            note_handed_over(ring, first);                                                                           \
        }                                                                                                            \
        return result;                                                                                               \
    }
WAITS(io_uring_submit_and_wait, (struct ring * ring, unsigned count), (ring, count), true, count, NULL)
WAITS(io_uring_submit_and_wait_timeout,
      (struct ring * ring, struct completion **completion, unsigned count, void *after, void *mask),
      (ring, completion, count, after, mask), true, count, completion != NULL ? *completion : NULL)
WAITS(io_uring_wait_cqes, (struct ring * ring, struct completion **completion, unsigned count, void *after, void *mask),
      (ring, completion, count, after, mask), false, count, completion != NULL ? *completion : NULL)
WAITS(io_uring_wait_cqe_timeout, (struct ring * ring, struct completion **completion, void *after),
      (ring, completion, after), false, 1u, completion != NULL ? *completion : NULL)
WAITS(__io_uring_get_cqe,
      (struct ring * ring, struct completion **completion, unsigned submitted, unsigned count, void *mask),
      (ring, completion, submitted, count, mask), false, count, completion != NULL ? *completion : NULL)

static unsigned (*real_io_uring_peek_batch_cqe)(struct ring *, struct completion **, unsigned);
static unsigned hook_io_uring_peek_batch_cqe(struct ring *ring, struct completion **completions, unsigned count)
{
    (void)note_call(ring, false);
    return real_io_uring_peek_batch_cqe(ring, completions, count);
}

/* The ring has ended, or another is made in its place. Its pending tasks will never run. */
static void forget(const struct ring *ring)
{
    end_begun(ring);
    struct known *known = find_known(ring);
    sbx_task_queue_ends((uint64_t)(uintptr_t)ring);
    if (known != NULL) {
        sbx_store_release(&known->ring, 0); /* order: release rings.ring */
    }
}

static void (*real_io_uring_queue_exit)(struct ring *);
static void hook_io_uring_queue_exit(struct ring *ring)
{
    (void)note_call(ring, false); /* taken completions are over */
    forget(ring);
    real_io_uring_queue_exit(ring);
}

static int (*real_io_uring_queue_init)(unsigned, struct ring *, unsigned);
static int hook_io_uring_queue_init(unsigned entries, struct ring *ring, unsigned flags)
{
    forget(ring);
    return real_io_uring_queue_init(entries, ring, flags);
}

static int (*real_io_uring_queue_init_params)(unsigned, struct ring *, void *);
static int hook_io_uring_queue_init_params(unsigned entries, struct ring *ring, void *parameters)
{
    forget(ring);
    return real_io_uring_queue_init_params(entries, ring, parameters);
}

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_URING)
static const struct sbx_point points[] = {
    POINT(io_uring_submit), /* first: without it there is no liburing */
    POINT(io_uring_submit_and_get_events),
    POINT(io_uring_submit_and_wait),
    POINT(io_uring_submit_and_wait_timeout),
    POINT(io_uring_wait_cqes),
    POINT(io_uring_wait_cqe_timeout),
    POINT(__io_uring_get_cqe),
    POINT(io_uring_peek_batch_cqe),
    POINT(io_uring_queue_exit),
    POINT(io_uring_queue_init),
    POINT(io_uring_queue_init_params),
    SBX_POINT("io_uring_mlock_size", NULL, real_io_uring_mlock_size, SBX_GROUP_URING),
};
const struct sbx_point_list sbx_points_uring = SBX_POINT_LIST(points);
