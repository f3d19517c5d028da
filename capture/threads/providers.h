/* SPDX-License-Identifier: Apache-2.0 */
/* providers.h - embedded runtimes that report their own frames: which ones there are, which of them run on a thread,
 * and what they reported.
 *
 * handler/logical_stack.h calls them. */
#ifndef SBX_PROVIDERS_H
#define SBX_PROVIDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generated_code.h"
#include "marks.h"
#include "recording_format.h"

enum {
    SBX_LOGICAL_MAX = 128, /* frames that are kept, of all providers; a deeper stack keeps both ends */
    SBX_LOGICAL_ROOT = 32, /* this many frames of a deep stack are the outermost ones */
    /* blocking calls in a row whose logical stack is noted when they begin; after that, one per interval of their
     * group */
    SBX_LOGICAL_NOTES = 256,
    SBX_LOGICAL_LOOKS = 16, /* this many checks whether a descriptor can wait count as one note */
};

/* See stallbox.h, struct stallbox_provider_options. */
#define SBX_PROVIDER_NOT_NOW SIZE_MAX
typedef size_t (*sbx_provider_walk)(void *context, size_t first, uint64_t *functions, uint32_t *lines, size_t max);

/* In `lines`: this frame is the outermost one that one native entry into the runtime runs. */
#define SBX_LINE_BORDER (UINT32_C(1) << 31)

/* The registers of the thread where it was interrupted. Same as struct stallbox_interrupted. */
struct sbx_interrupted {
    uint64_t pc, sp, fp;
    const uint64_t *registers;
};
typedef size_t (*sbx_provider_walk_at)(void *context, const struct sbx_interrupted *interrupted, size_t first,
                                       uint64_t *functions, uint32_t *lines, size_t max);

typedef size_t (*sbx_provider_awaited_by)(void *context, const struct sbx_interrupted *interrupted, uint64_t *functions,
                                          uint32_t *lines, size_t max);

/* Work of a runtime's queues. Same as struct stallbox_queued_work and struct stallbox_running_work. */
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
    sbx_provider_walk walk;       /* NULL: walk_at is used */
    sbx_provider_walk_at walk_at; /* NULL: walk is used */
    sbx_code_step step;           /* unwinds code that the runtime generates; NULL: none */
    void *(*resolve)(void);       /* the calling thread's context, signal-safe; NULL: threads announce it themselves */
    int (*lock_holder)(const void *condition); /* stallbox.h; NULL: it has no locks that are known here */
    uint32_t (*holder)(void *context); /* tid of the holder of what the calling thread is about to wait for; 0: none */
    /* who awaits what the calling thread runs (handler/awaits.h), signal-safe; NULL: not supported */
    sbx_provider_awaited_by awaited_by;
    /* The work that it queues. A clock read by its code at [queuing_begin, queuing_begin + queuing_bytes) shows that it
     * queues (calls/runtime_queue.h). NULL: not supported. */
    sbx_provider_queues queues;
    uint64_t queuing_begin, queuing_bytes;
    sbx_provider_runs runs; /* which piece of it runs (handler/seen_work.h), signal-safe; NULL: not supported */
    /* Bytes that the calling thread has allocated in the runtime's heap so far; 0: not known. Signal-safe; NULL: not
     * supported. */
    uint64_t (*allocated)(void *context);
    /* How often the whole process has deoptimized so far: frames, and compilations. Watch thread; NULL: not
     * supported. */
    void (*deoptimized)(uint64_t *frames_out, uint64_t *compilations_out);
    void (*want)(void *context); /* signal-safe; NULL: the runtime checks by itself whether a safepoint is wanted */
    uint32_t index;
    bool is_signal_safe;             /* `walk` may be called in a handler */
    bool has_safepoints;             /* the runtime polls for safepoints */
    struct sbx_provider_entry entry; /* the data for readers of the recording */
};

/* A logical stack as reported, leaf first. */
struct sbx_logical_walk {
    uint32_t count;
    uint32_t tags[SBX_LOGICAL_MAX + SBX_PROVIDERS_MAX]; /* line, provider, and enum sbx_logical_tag */
    uint64_t functions[SBX_LOGICAL_MAX + SBX_PROVIDERS_MAX];
};

/* The last reported amount that a runtime's heap has given a thread. */
struct sbx_heap_told {
    void *context; /* the thread's context then; NULL: nothing was reported */
    uint64_t bytes;
};

/* The providers' data of a thread: in its block. */
struct sbx_logical {
    uint32_t turn;     /* which of `walks` is the newest */
    uint32_t native;   /* callstack id that the logical stack was put on; 0: there is none */
    uint32_t stack;    /* the callstack id of the result */
    uint32_t epoch;    /* epoch of both ids */
    uint64_t noted_ns; /* begin of the blocking call that the thread has been in since the last walk; 0: none */
    uint32_t wanted;   /* not 0: a safepoint is wanted. Bits 0..7 flags, 8..15 kind, 16..23 op of its record */
    bool not_now;      /* a provider could not report its stack in this capture */
    bool is_note;      /* this capture is the note of a call that begins */
    bool asks_nobody;  /* this capture is for the native stack only */
    bool drops_native; /* this capture is a safepoint's: the provider's own frames are left out */
    struct sbx_heap_told heaps[SBX_PROVIDERS_MAX];
    struct sbx_logical_walk walks[2];
};

/* Who awaits what a thread runs, as last reported (handler/awaits.h). In the thread's block. The watch thread reads it
 * while the thread sleeps. */
struct sbx_awaits {
    uint64_t hash;     /* hash of the report; 0: nothing awaits it */
    uint64_t message;  /* the message in which it was reported */
    uint64_t since_ns; /* when it was first reported */
    uint64_t told_ns;  /* the part of the time since then that is in a record already */
    uint32_t stack;    /* callstack id; 0: none */
    uint32_t epoch;    /* epoch of that id */
};

/* The piece of a runtime's work that a thread was last seen to run (handler/seen_work.h). In its block. */
struct sbx_seen_work {
    uint64_t key;     /* key of the piece that it runs; 0: none is known */
    uint64_t id;      /* id of its task; 0: not known who queued it */
    uint64_t last_ns; /* when it was seen last */
    uint64_t none_ns; /* when the thread was last seen to run none */
    uint64_t look_ns; /* the next clock read after this time is looked at (calls/runtime_queue.h) */
};

/* Code that reads clocks when it queues work; 0 bytes: there is none. One for all providers: that of the first provider
 * that has some. */
struct sbx_clock_reader {
    uint64_t begin, bytes;
};
extern struct sbx_clock_reader sbx_the_clock_reader;

/* The provider's context on the calling thread, by provider; NULL: the thread does not run it. */
extern __thread void *sbx_provider_contexts[SBX_PROVIDERS_MAX];

/* The context of provider number `index` on the calling thread, announced by the thread or found; NULL: the thread does
 * not run the provider. */
SBX_SIGNAL_SAFE void *sbx_provider_context(uint32_t index);

/* The tid of the thread that the calling thread is about to wait for, as its runtimes know it; 0: none, or not
 * known. */
SBX_SIGNAL_SAFE uint32_t sbx_provider_holder(void);

/* Does the calling thread run any of the providers? */
SBX_SIGNAL_SAFE bool sbx_provider_is_entered(void);

extern struct sbx_provider sbx_the_providers[SBX_PROVIDERS_MAX];

/* Add a provider. One caller at a time. Returns the stored provider, or NULL when there are SBX_PROVIDERS_MAX already.
 * May be called before or after the recording is attached. A provider is never removed. */
struct sbx_provider *sbx_provider_add(const struct sbx_provider *provider);

/* Code that `provider` generates now or later lies in [begin, end). One caller at a time. False: there is no room. */
bool sbx_provider_add_code(const struct sbx_provider *provider, uint64_t begin, uint64_t end);

/* Is a wait for this condition variable a wait for a runtime's lock? Returns the holder's tid; 0: the holder is not
 * known; -1: it is not such a wait. */
SBX_HOOK_SAFE int sbx_provider_lock_holder(uint64_t condition);

/* Write what is known of the providers into the recording, if one is attached. */
void sbx_providers_publish(void);

#endif
