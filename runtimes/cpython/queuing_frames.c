/* SPDX-License-Identifier: Apache-2.0 */
/* queuing_frames.c - frames are read without tests, because the calling thread holds the interpreter lock and is in a
 * call of a C function. */
#include "queuing_frames.h"

#include <string.h>

#include "code_names.h"
#include "code_table.h"
#include "object_read.h"

enum {
    FRAMES_MOST = 24, /* frames from the call outwards; frames farther out are not read */
    KNOWN_PARTS = 256,
    PART_BITS = 8,
    OWNER_GENERATOR = 1,
    OWNER_C_STACK = 3,
};

/* ---- functions ---- */

/* The standard library's folder, with a slash at its end. Learned from the first file of asyncio or of a thread
 * pool. */
static char library[CODE_FILE_MAX];
static size_t library_bytes;

static bool ends_with(const char *text, size_t bytes, const char *end)
{
    size_t end_bytes = strlen(end);
    return bytes >= end_bytes && memcmp(text + bytes - end_bytes, end, end_bytes) == 0;
}

static bool begins_with(const char *text, size_t bytes, const char *begin)
{
    size_t begin_bytes = strlen(begin);
    return bytes >= begin_bytes && memcmp(text, begin, begin_bytes) == 0;
}

/* Is `wanted` the last part of a qualified name? */
static bool is_called(const char *name, size_t bytes, const char *wanted)
{
    size_t wanted_bytes = strlen(wanted);
    return ends_with(name, bytes, wanted) && (bytes == wanted_bytes || name[bytes - wanted_bytes - 1] == '.');
}

static bool is_of_library(const char *file, size_t bytes)
{
    if (begins_with(file, bytes, "<frozen ")) {
        return true;
    }
    return library_bytes != 0 && bytes > library_bytes && memcmp(file, library, library_bytes) == 0 &&
           !begins_with(file + library_bytes, bytes - library_bytes, "site-packages/") &&
           !begins_with(file + library_bytes, bytes - library_bytes, "dist-packages/");
}

static void learn_library(const char *file, size_t bytes)
{
    memcpy(library, file, bytes);
    library_bytes = bytes;
}

enum queuing_part queuing_part_of(const char *file, size_t file_bytes, const char *name, size_t name_bytes)
{
    static const struct {
        const char *file, *name;
        enum queuing_part part;
    } parts[] = {
        {"/asyncio/events.py", "__init__", PART_INIT},
        {"/asyncio/events.py", "_run", PART_RUN},
        {"/asyncio/base_events.py", "_call_soon", PART_CALL_SOON},
        {"/asyncio/base_events.py", "create_task", PART_LIBRARY},
        {"/asyncio/threads.py", "to_thread", PART_TO_THREAD},
        {"/asyncio/tasks.py", "sleep", PART_SLEEP},
        {"/concurrent/futures/thread.py", "submit", PART_SUBMIT},
        {"/concurrent/futures/thread.py", "_worker", PART_WORKER},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!ends_with(file, file_bytes, parts[i].file)) {
            continue;
        }
        size_t folder_bytes = file_bytes - strlen(parts[i].file) + 1;
        if (library_bytes == 0 && folder_bytes < sizeof library) {
            learn_library(file, folder_bytes);
        }
        if (is_of_library(file, file_bytes) && is_called(name, name_bytes, parts[i].name)) {
            return parts[i].part;
        }
    }
    return is_of_library(file, file_bytes) ? PART_LIBRARY : PART_PROGRAM;
}

/* ---- code objects ---- */

/* A part together with the key of its code object. Both are in one word, because interpreters with their own locks may
 * use this table at the same time. */
static uint64_t known_parts[KNOWN_PARTS];

READS_OBJECTS static uint64_t key_of(const struct cpython_layout *layout, uint64_t code)
{
    uint64_t key = code_table_mix(code, object_word_at(code, layout->code_file));
    key = code_table_mix(key, object_word_at(code, layout->code_name));
    return code_table_mix(key, object_word_at(code, layout->code_lines)) << PART_BITS;
}

__attribute__((noinline)) static enum queuing_part look_at(const struct cpython *cpython, uint64_t code)
{
    const struct cpython_layout *layout = cpython->layout;
    char file[CODE_FILE_MAX], name[CODE_NAME_MAX];
    size_t file_bytes =
        code_name_text(layout, cpython->types.string, object_word_at(code, layout->code_file), file, sizeof file);
    size_t name_bytes =
        code_name_text(layout, cpython->types.string, object_word_at(code, layout->code_name), name, sizeof name);
    return queuing_part_of(file, file_bytes, name, name_bytes);
}

static enum queuing_part part_of(const struct cpython *cpython, uint64_t code)
{
    uint64_t key = key_of(cpython->layout, code);
    uint64_t *known = &known_parts[key >> PART_BITS & (KNOWN_PARTS - 1)];
    /* relaxed: one word, which is always consistent */
    uint64_t word = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (__builtin_expect((word ^ key) >> PART_BITS != 0 || word == 0, 0)) {
        word = key | (uint64_t)look_at(cpython, code);
        __atomic_store_n(known, word, __ATOMIC_RELAXED);
    }
    return (enum queuing_part)(word & ((1 << PART_BITS) - 1));
}

/* ---- frames ---- */

/* The frames from `frame` outwards. */
struct frames {
    const struct cpython *cpython;
    uint64_t frame; /* the next frame */
    uint64_t last;  /* the frame that was reported last */
    int left;
};

READS_OBJECTS static struct frames frames_of(const struct cpython *cpython, uint64_t thread)
{
    const struct cpython_layout *layout = cpython->layout;
    uint64_t at = thread != 0 ? object_word_at(thread, layout->thread_frame) : 0;
    uint64_t frame = at != 0 && layout->chain == CPYTHON_CFRAMES ? object_word_at(at, layout->cframe_current) : at;
    return (struct frames){.cpython = cpython, .frame = frame, .left = FRAMES_MOST};
}

/* Do tracebacks omit the frame? They do if it is on the C stack, or if no instruction of its function has begun. 3.13
 * has such frames around the creation of an object. */
READS_OBJECTS static bool is_hidden(const struct cpython_layout *layout, uint64_t frame)
{
    if (layout->code_first_traceable == 0) {
        return false;
    }
    uint8_t owner = object_byte_at(frame, layout->frame_owner);
    if (owner == OWNER_GENERATOR || owner == OWNER_C_STACK) {
        return owner == OWNER_C_STACK;
    }
    uint64_t code = object_word_at(frame, layout->frame_code);
    int64_t offset = (int64_t)(object_word_at(frame, layout->frame_instruction) - (code + layout->code_instructions));
    return offset < 2 * (int64_t)(int32_t)object_half_at(code, layout->code_first_traceable);
}

/* Returns the part of the next outer frame; 0: there is none. */
READS_OBJECTS static enum queuing_part next_part(struct frames *frames)
{
    const struct cpython_layout *layout = frames->cpython->layout;
    while (frames->frame != 0) {
        uint64_t frame = frames->frame, code = object_word_at(frame, layout->frame_code);
        if (frames->left-- == 0) {
            return PART_TOO_FAR;
        }
        frames->frame = object_word_at(frame, layout->frame_previous);
        if (!is_hidden(layout, frame) && code != 0 &&
            object_word_at(code, OBJECT_TYPE) == frames->cpython->types.code) {
            frames->last = frame;
            return part_of(frames->cpython, code);
        }
    }
    return 0;
}

/* Finds who queued it, from the next outer frame. If all functions on the stack belong to the library, the stack is
 * that of a library's own thread. */
static enum queuing_who who_from(struct frames *frames)
{
    for (;;) {
        switch (next_part(frames)) {
        case PART_PROGRAM:
            return QUEUED_BY_FRAMES;
        case PART_RUN:
            return QUEUED_BY_RUNNING;
        case PART_SLEEP:
        case PART_TOO_FAR:
            return QUEUED_BY_NOBODY;
        case PART_LIBRARY:
        case PART_INIT:
        case PART_CALL_SOON:
        case PART_TO_THREAD:
        case PART_SUBMIT:
        case PART_WORKER:
            break;
        default:
            return QUEUED_BY_FRAMES;
        }
    }
}

struct queuing queuing_of_copy(const struct cpython *cpython, uint64_t thread)
{
    struct frames frames = frames_of(cpython, thread);
    enum queuing_part made_by = next_part(&frames);
    struct queuing queuing = {QUEUES_NOTHING, QUEUED_BY_NOBODY, 0};
    if (made_by == PART_INIT) {
        /* A timer's __init__ calls a handle's. The handle of a descriptor's callback or of a signal is not queued: the
         * loop calls it when the descriptor or the signal is ready. */
        enum queuing_part wanted_by = next_part(&frames);
        queuing.sort = wanted_by == PART_CALL_SOON ? QUEUES_CALLBACK
                       : wanted_by == PART_INIT    ? QUEUES_TIMER
                                                   : QUEUES_NOTHING;
    } else if (made_by == PART_TO_THREAD) {
        queuing.sort = QUEUES_CALL;
    }
    if (queuing.sort != QUEUES_NOTHING) {
        queuing.who = who_from(&frames);
        queuing.run = frames.last;
    }
    return queuing;
}

READS_OBJECTS uint64_t queuing_run_frame(const struct cpython *cpython, uint64_t thread)
{
    struct frames frames = frames_of(cpython, thread);
    (void)next_part(&frames);
    return frames.last;
}

/* A call of to_thread() is reported when its context is copied. */
static bool is_from_thread_call(struct frames frames)
{
    enum queuing_part part;
    do {
        part = next_part(&frames);
    } while (part == PART_LIBRARY);
    return part == PART_TO_THREAD;
}

struct queuing queuing_of_item(const struct cpython *cpython, uint64_t thread)
{
    struct frames frames = frames_of(cpython, thread);
    struct queuing queuing = {QUEUES_NOTHING, QUEUED_BY_NOBODY, 0};
    if (next_part(&frames) == PART_SUBMIT && !is_from_thread_call(frames)) {
        queuing.sort = QUEUES_ITEM;
        queuing.who = who_from(&frames);
        queuing.run = frames.last;
    }
    return queuing;
}

uint64_t queuing_worker_frame(const struct cpython *cpython, uint64_t thread)
{
    struct frames frames = frames_of(cpython, thread);
    return next_part(&frames) == PART_WORKER ? frames.last : 0;
}

struct queuing queuing_of_task(const struct cpython *cpython, uint64_t thread)
{
    struct frames frames = frames_of(cpython, thread);
    enum queuing_who who = who_from(&frames);
    return (struct queuing){QUEUES_TASK, who, frames.last};
}
