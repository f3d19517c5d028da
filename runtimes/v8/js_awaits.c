/* SPDX-License-Identifier: Apache-2.0 */
/* js_awaits.c - jobs, promises, reactions and generators. Offsets are the same in 10.2 and 11.3. An object's map gives
 * its type. */
#include "js_awaits.h"

#include "js_function.h"

enum {
    ISOLATE_BYTES = 65536, /* bytes that are searched, from its start; its roots are there */
    TRIES_MAX = 16,        /* searches for the place of the job */
    FUNCTION_CONTEXT = 32,
    CONTEXT_LENGTH = 8,
    CONTEXT_SLOTS = 16,
    SLOT_EXTENSION = 2,  /* of an await: the function that continues */
    SLOT_PROMISE = 2,    /* of a function that settles a promise */
    SLOT_CAPABILITY = 3, /* of the callbacks of Promise.all() and similar functions: the promise that they settle */
    GENERATOR_FUNCTION = 24,
    GENERATOR_POSITION = 48, /* suspended: bytes from the tagged address of its bytecodes */
    GENERATOR_CONTINUATION = 64,
    GENERATOR_LAST = 80, /* of an asynchronous function: its promise; of an asynchronous generator: its requests */
    GENERATOR_BYTES = 88,
    REQUEST_PROMISE = 32,
    REQUEST_BYTES = 40,
    PROMISE_REACTIONS = 24,
    PROMISE_FLAGS = 32, /* the lowest two bits: 0, it is pending */
    PROMISE_BYTES = 40,
    PROMISE_STATUS = 3,
    REACTION_NEXT = 8,
    REACTION_REJECTED = 16,
    REACTION_HANDLER = 24, /* called when it is fulfilled; REACTION_REJECTED, when it is rejected */
    REACTION_PROMISE = 32, /* the derived promise, or a capability that settles one */
    REACTION_BYTES = 40,
    CAPABILITY_PROMISE = 8,
    CAPABILITY_BYTES = 32,
    JOB_HANDLER = 24,
    JOB_PROMISE = 32,
    JOB_BYTES = 40,
};

static bool is_job(const struct js_layout *layout, struct js_pages *pages, uint64_t word, struct js_object *job_out)
{
    return js_object_open(pages, word, JOB_BYTES, job_out) &&
           (job_out->type == layout->type_fulfill_job || job_out->type == layout->type_reject_job);
}

static bool find_job(struct js_jobs *jobs, const struct js_layout *layout, struct js_pages *pages, uint64_t isolate,
                     struct js_object *job_out)
{
    uint32_t at = __atomic_load_n(&jobs->at, __ATOMIC_RELAXED); /* relaxed: a number, right or 0 */
    if (at != 0) {
        return js_can_read(pages, isolate + at, 8) && is_job(layout, pages, js_word_at(isolate + at), job_out);
    }
    if (__atomic_fetch_add(&jobs->tries, 1, __ATOMIC_RELAXED) > TRIES_MAX) {
        return false; /* relaxed: an approximate count */
    }
    for (at = 8; at < ISOLATE_BYTES && js_can_read(pages, isolate + at, 8); at += 8) {
        if (is_job(layout, pages, js_word_at(isolate + at), job_out)) {
            __atomic_store_n(&jobs->at, at, __ATOMIC_RELAXED); /* relaxed: all threads store the same */
            return true;
        }
    }
    return false;
}

/* ---- the contents of a closure ---- */

/* Returns a slot of the context of one of V8's own functions; 0: the function is not V8's, or has no such slot. The
 * closures of a script may contain anything, so they are not read. */
static uint64_t slot_of(const struct js_awaits *awaits, uint64_t function, uint32_t slot)
{
    struct js_object object, context;
    struct js_function unused;
    if (!js_object_open(awaits->pages, function, FUNCTION_CONTEXT + 8, &object) ||
        object.type != awaits->layout->type_function ||
        js_function_look(awaits->pages, awaits->layout, 0, function, &unused) != JS_BUILT_IN ||
        !js_object_open(awaits->pages, js_word_at(object.at + FUNCTION_CONTEXT), CONTEXT_SLOTS, &context) ||
        context.type < awaits->layout->type_context_first || context.type > awaits->layout->type_context_last) {
        return 0;
    }
    uint64_t length = js_word_at(context.at + CONTEXT_LENGTH), at = context.at + CONTEXT_SLOTS + (uint64_t)slot * 8;
    return js_is_number(length) && js_number(length) > (int32_t)slot && js_can_read(awaits->pages, at, 8)
               ? js_word_at(at)
               : 0;
}

static bool is_asynchronous(const struct js_layout *layout, const struct js_object *object)
{
    return object->type == layout->type_async_function || object->type == layout->type_async_generator;
}

/* Gets the asynchronous function that continues when `handler` is called. */
static bool open_generator(const struct js_awaits *awaits, uint64_t handler, struct js_object *generator_out)
{
    return js_object_open(awaits->pages, slot_of(awaits, handler, SLOT_EXTENSION), GENERATOR_BYTES, generator_out) &&
           is_asynchronous(awaits->layout, generator_out);
}

/* Returns the promise that `word` is, or that `word` settles if it is what V8 calls a capability; 0: none. */
static uint64_t promise_of(const struct js_awaits *awaits, uint64_t word)
{
    struct js_object object;
    if (!js_object_open(awaits->pages, word, CAPABILITY_BYTES, &object)) {
        return 0;
    }
    return object.type == awaits->layout->type_promise      ? word
           : object.type == awaits->layout->type_capability ? js_word_at(object.at + CAPABILITY_PROMISE)
                                                            : 0;
}

/* Returns the promise that an asynchronous function settles, or that of an asynchronous generator's current request; 0:
 * none. */
static uint64_t promise_of_generator(const struct js_awaits *awaits, const struct js_object *generator)
{
    struct js_object request;
    uint64_t last = js_word_at(generator->at + GENERATOR_LAST);
    if (generator->type == awaits->layout->type_async_function) {
        return last;
    }
    return js_object_open(awaits->pages, last, REQUEST_BYTES, &request) && request.type == awaits->layout->type_request
               ? js_word_at(request.at + REQUEST_PROMISE)
               : 0;
}

/* ---- outwards ---- */

bool js_awaits_begin(struct js_awaits *awaits, const struct js_layout *layout, struct js_pages *pages,
                     struct js_jobs *jobs, uint64_t isolate)
{
    struct js_object job, generator;
    *awaits = (struct js_awaits){.layout = layout, .pages = pages, .left = JS_AWAITS_STEPS};
    if (!find_job(jobs, layout, pages, isolate, &job)) {
        return false;
    }
    bool goes_on = open_generator(awaits, js_word_at(job.at + JOB_HANDLER), &generator);
    awaits->promise =
        goes_on ? promise_of_generator(awaits, &generator) : promise_of(awaits, js_word_at(job.at + JOB_PROMISE));
    return awaits->promise != 0;
}

/* Gets the reaction to the current promise, if the promise is pending and has exactly one. */
static bool open_reaction(const struct js_awaits *awaits, struct js_object *reaction_out)
{
    const struct js_layout *layout = awaits->layout;
    struct js_object promise;
    if (!js_object_open(awaits->pages, awaits->promise, PROMISE_BYTES, &promise) ||
        promise.type != layout->type_promise) {
        return false;
    }
    uint64_t flags = js_word_at(promise.at + PROMISE_FLAGS);
    return js_is_number(flags) && (js_number(flags) & PROMISE_STATUS) == 0 &&
           js_object_open(awaits->pages, js_word_at(promise.at + PROMISE_REACTIONS), REACTION_BYTES, reaction_out) &&
           reaction_out->type == layout->type_reaction && js_is_number(js_word_at(reaction_out->at + REACTION_NEXT));
}

/* Returns the promise that the reaction settles: that of Promise.all(), allSettled(), any() or race(), or a derived
 * promise. */
static uint64_t promise_behind(const struct js_awaits *awaits, const struct js_object *reaction, uint64_t handler)
{
    uint64_t rejected = js_word_at(reaction->at + REACTION_REJECTED);
    const uint64_t slots[] = {slot_of(awaits, handler, SLOT_CAPABILITY), slot_of(awaits, rejected, SLOT_CAPABILITY),
                              slot_of(awaits, handler, SLOT_PROMISE)};
    for (int i = 0; i < 3; i++) {
        uint64_t promise = promise_of(awaits, slots[i]);
        if (promise != 0) {
            return promise;
        }
    }
    return promise_of(awaits, js_word_at(reaction->at + REACTION_PROMISE));
}

bool js_awaits_next(struct js_awaits *awaits, struct js_awaiting *awaiting_out)
{
    for (; awaits->promise != 0 && awaits->left > 0; awaits->left--) {
        struct js_object reaction, generator;
        if (!open_reaction(awaits, &reaction)) {
            break;
        }
        uint64_t handler = js_word_at(reaction.at + REACTION_HANDLER);
        if (!open_generator(awaits, handler, &generator)) {
            awaits->promise = promise_behind(awaits, &reaction, handler);
            continue;
        }
        uint64_t position = js_word_at(generator.at + GENERATOR_POSITION);
        uint64_t continuation = js_word_at(generator.at + GENERATOR_CONTINUATION);
        awaits->promise = promise_of_generator(awaits, &generator);
        awaits->left--;
        int64_t offset = js_is_number(position)
                             ? js_number(position) + JS_OBJECT_TAG - (int64_t)awaits->layout->bytecodes_first
                             : -1;
        if (!js_is_number(continuation) || js_number(continuation) < 0 || offset < 0) {
            break; /* it is not suspended */
        }
        *awaiting_out = (struct js_awaiting){js_word_at(generator.at + GENERATOR_FUNCTION), (uint32_t)offset};
        return true;
    }
    awaits->promise = 0;
    return false;
}
