/* SPDX-License-Identifier: Apache-2.0 */
/* providers.h - embedded runtimes that tell their own frames: who they are, which of them run on a thread, and what was told.
 *
 * handler/logical_stack.h asks them. */
#ifndef SBX_PROVIDERS_H
#define SBX_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generated_code.h"
#include "marks.h"
#include "recording_format.h"

enum {
    SBX_LOGICAL_MAX = 128, /* frames that are kept, of all providers: of a deeper stack both ends */
    SBX_LOGICAL_ROOT = 32, /* so many of a deep stack are its outermost */
    SBX_LOGICAL_NOTES =
        256, /* blocking calls in a row whose logical stack is noted as they begin; one more each interval of their group */
    SBX_LOGICAL_LOOKS = 16, /* looks whether a descriptor can wait at all, at the price of a note */
};

/* See stallbox.h, struct stallbox_provider_options. */
#define SBX_PROVIDER_NOT_NOW SIZE_MAX
typedef size_t (*sbx_provider_walk)(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max);

/* In `lines`: the frame is the outermost that one native entry into the runtime runs. */
#define SBX_LINE_BORDER (UINT32_C(1) << 31)

/* The registers of the thread where it was interrupted, as struct stallbox_interrupted. */
struct sbx_interrupted {
    uint64_t pc, sp, fp;
    const uint64_t *registers;
};
typedef size_t (*sbx_provider_walk_at)(void *context, const struct sbx_interrupted *interrupted, size_t first,
                                       uint64_t *functions, uint32_t *lines, size_t max);

typedef size_t (*sbx_provider_awaited_by)(void *context, const struct sbx_interrupted *interrupted, uint64_t *functions,
                                          uint32_t *lines, size_t max);

/* Work of a runtime's queues, as struct stallbox_queued_work and struct stallbox_running_work have it. */
struct sbx_queued_work {
    uint64_t queue, item;
    uint32_t work;
};
struct sbx_running_work {
    uint64_t queue, item, queued_in;
};
typedef int (*sbx_provider_queues)(void *context, struct sbx_queued_work *work_out);
typedef int (*sbx_provider_runs)(void *context, const struct sbx_interrupted *interrupted,
                                 struct sbx_running_work *work_out);

struct sbx_provider {
    sbx_provider_walk walk;       /* NULL: walk_at */
    sbx_provider_walk_at walk_at; /* NULL: walk */
    sbx_code_step step;           /* of code it generates; NULL: none */
    void *(*resolve)(void);       /* the calling thread's context, signal safe; NULL: threads say it themselves */
    int (*lock_holder)(const void *condition); /* stallbox.h; NULL: it has no locks that we know */
    uint32_t (*holder)(void *context); /* tid of who holds what the calling thread is about to wait for; 0: nobody */
    /* who awaits what the calling thread runs (handler/awaits.h), signal safe; NULL: nobody does */
    sbx_provider_awaited_by awaited_by;
    /* work that it queues is known by a clock that its code at [queuing_begin, queuing_begin + queuing_bytes) reads (calls/runtime_queue.h); NULL: by none */
    sbx_provider_queues queues;
    uint64_t queuing_begin, queuing_bytes;
    sbx_provider_runs runs; /* which of it runs (handler/seen_work.h), signal safe; NULL: it does not say */
    /* bytes that the calling thread has allocated in the runtime's heap so far; 0: not known. Signal safe; NULL: it does not say */
    uint64_t (*allocated)(void *context);
    /* how often it deoptimized so far, in the whole process: frames; and compilations. Watch thread; NULL: it does not say */
    void (*deoptimized)(uint64_t *frames_out, uint64_t *compilations_out);
    void (*want)(void *context); /* signal safe; NULL: the runtime looks for itself whether it is wanted */
    uint32_t index;
    bool is_signal_safe;             /* `walk` may be called in a handler */
    bool has_safepoints;             /* it polls */
    struct sbx_provider_entry entry; /* what readers are told */
};

/* A logical stack as told, leaf first. */
struct sbx_logical_walk {
    uint32_t count;
    uint32_t tags[SBX_LOGICAL_MAX + SBX_PROVIDERS_MAX]; /* line, provider, and enum sbx_logical_tag */
    uint64_t functions[SBX_LOGICAL_MAX + SBX_PROVIDERS_MAX];
};

/* What a runtime's heap has given a thread, as it was told last. */
struct sbx_heap_told {
    void *context; /* the thread's then; NULL: nothing was told */
    uint64_t bytes;
};

/* A thread's part: in its block. */
struct sbx_logical {
    uint32_t turn;     /* which of `walks` is the last */
    uint32_t native;   /* callstack id it was put on; 0: there is none */
    uint32_t stack;    /* and the id that came of it */
    uint32_t epoch;    /* of both */
    uint64_t noted_ns; /* begin of the blocking call in which the thread still is since the last walk; 0: none */
    uint32_t wanted;   /* not 0: a safepoint is asked for. Bits 0..7 flags, 8..15 kind, 16..23 op of its record */
    bool not_now;      /* a provider could not tell its stack in this capture */
    bool is_note;      /* this capture is the note of a call that begins */
    bool asks_nobody;  /* this one is for the native stack alone */
    bool drops_native; /* this capture is a safepoint's: the frames of the provider itself are no news */
    struct sbx_heap_told heaps[SBX_PROVIDERS_MAX];
    struct sbx_logical_walk walks[2];
};

/* Who awaits what a thread runs, as it was told last (handler/awaits.h). In its block; the watch thread reads it while the thread
 * sleeps. */
struct sbx_awaits {
    uint64_t hash;     /* of what was told; 0: nobody awaits it */
    uint64_t message;  /* in which it was */
    uint64_t since_ns; /* when it was told first */
    uint64_t told_ns;  /* how much of the span since then is in a record */
    uint32_t stack;    /* callstack id; 0: none */
    uint32_t epoch;    /* in which that was interned */
};

/* Which piece of a runtime's work a thread was seen to run (handler/seen_work.h). In its block. */
struct sbx_seen_work {
    uint64_t key;     /* of the one that it runs; 0: none is known */
    uint64_t id;      /* its task; 0: nobody knows who queued it */
    uint64_t last_ns; /* when it was seen last */
    uint64_t none_ns; /* when none was seen last */
    uint64_t look_ns; /* the next clock is looked at from then on (calls/runtime_queue.h) */
};

/* Code that reads clocks when it queues work; 0 bytes: there is none. One for all providers: the first that has some. */
struct sbx_clock_reader {
    uint64_t begin, bytes;
};
extern struct sbx_clock_reader sbx_the_clock_reader;

/* The provider's context on the calling thread, by provider; NULL: the thread does not run it. */
extern __thread void *sbx_provider_contexts[SBX_PROVIDERS_MAX];

/* The context of provider number `index` on the calling thread, said or found; NULL: the thread does not run it. */
SBX_SIGNAL_SAFE void *sbx_provider_context(uint32_t index);

/* Whom a runtime lets the calling thread, which is about to wait, wait for: a tid; 0: nobody, or not known. */
SBX_SIGNAL_SAFE uint32_t sbx_provider_holder(void);

/* Does the calling thread run any of them? */
SBX_SIGNAL_SAFE bool sbx_provider_is_entered(void);

extern struct sbx_provider sbx_the_providers[SBX_PROVIDERS_MAX];

/* Add a provider. One caller at a time. Returns it, or NULL: there are SBX_PROVIDERS_MAX already. Before or after the
 * recording is attached; for good. */
struct sbx_provider *sbx_provider_add(const struct sbx_provider *provider);

/* Code that `provider` generates, or will, lies in [begin, end). One caller at a time. False: there is no room. */
bool sbx_provider_add_code(const struct sbx_provider *provider, uint64_t begin, uint64_t end);

/* Is a wait for this condition variable one for a runtime's lock? The holder's tid, 0: not known; -1: it is not. */
SBX_HOOK_SAFE int sbx_provider_lock_holder(uint64_t condition);

/* Write into the recording what is known of the providers, if it is attached. */
void sbx_providers_publish(void);

#endif
