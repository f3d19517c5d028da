/* SPDX-License-Identifier: Apache-2.0 */
/* stack_reader.c - copies stacks, and walks the copies. */
#include "stack_reader.h"

#include <stdlib.h>
#include <string.h>

#include "callstack_table.h"
#include "frame_walker.h"
#include "function_starts.h"
#include "process_memory.h"

enum {
    ATTEMPTS = 4,            /* copies of a stack; the last one is used in any case */
    FIRST_BYTES = 64 << 10,  /* of a stack; a deeper one is copied again with more bytes */
    BYTES_MAX = 8 << 20,     /* the usual limit of a stack */
    TABLE_SLOTS = 1 << 12,   /* frames that a walk may intern, more than it keeps */
    SEARCH_BYTES = 64 << 10, /* range of the search for a frame pointer: the locals of one function */
    MODULES_PER_STACK = 256, /* rows are requested once per module, so this bounds repeated walks */
};

struct sbx_stack_reader {
    struct sbx_walk_cache cache;
    struct sbx_walk walk;
    uint64_t frames[2 * TABLE_SLOTS], nodes[2 * 16];
    uint64_t drops[SBX_DROP_COUNT], begun_ns[2], heartbeat_ns;
    uint32_t epoch;
    struct sbx_callstack_table table; /* the walk interns its frames; this is not read here */
    uint8_t *copy;
    size_t copy_room;
};

struct sbx_stack_reader *sbx_stack_reader_create(void)
{
    struct sbx_stack_reader *reader = aligned_alloc(_Alignof(struct sbx_stack_reader), sizeof *reader);
    if (reader != NULL) {
        memset(reader, 0, sizeof *reader);
    }
    return reader;
}

void sbx_stack_reader_destroy(struct sbx_stack_reader *reader)
{
    if (reader != NULL) {
        free(reader->copy);
    }
    free(reader);
}

/* Each walk begins with an empty table, so it is never full of frames of another walk. */
static void clear_table(struct sbx_stack_reader *reader)
{
    memset(reader->frames, 0, sizeof reader->frames);
    memset(reader->nodes, 0, sizeof reader->nodes);
    memset(reader->drops, 0, sizeof reader->drops);
    reader->epoch = 1;
    reader->table = (struct sbx_callstack_table){.frames = reader->frames,
                                                 .nodes = reader->nodes,
                                                 .epoch = &reader->epoch,
                                                 .epoch_begun_ns = reader->begun_ns,
                                                 .heartbeat_ns = &reader->heartbeat_ns,
                                                 .drops = reader->drops,
                                                 .frame_mask = TABLE_SLOTS - 1,
                                                 .node_mask = 15,
                                                 .frame_shift = 64 - 12,
                                                 .node_shift = 64 - 4};
    memset(&reader->cache, 0, sizeof reader->cache);
}

/* ---- the copy ---- */

/* Copy up to `bytes` from `sp` on, and the bytes below it that may be valid. An empty window: nothing can be read. */
static struct sbx_stack_window copy_stack(struct sbx_stack_reader *reader, const struct sbx_process_modules *modules,
                                          uint64_t sp, size_t bytes)
{
    struct sbx_stack_window window = {0};
    uint64_t begin = sp - SBX_RED_ZONE_BYTES;
    const struct sbx_mapping *mapping = sbx_process_maps_find(&modules->maps, begin);
    uint64_t end = begin + bytes;
    if (mapping != NULL && end > mapping->end) {
        end = mapping->end;
    }
    if (sp < SBX_RED_ZONE_BYTES || end <= begin) {
        return window;
    }
    if (reader->copy_room < end - begin) {
        free(reader->copy);
        reader->copy_room = end - begin;
        reader->copy = malloc(reader->copy_room);
        if (reader->copy == NULL) {
            reader->copy_room = 0;
            return window;
        }
    }
    size_t got = sbx_process_memory_read_some(modules->pid, begin, reader->copy, end - begin) & ~(size_t)7;
    window.lo = begin;
    window.hi = begin + got;
    window.delta = (int64_t)((uint64_t)(uintptr_t)reader->copy - begin);
    return window;
}

static bool window_word(const struct sbx_stack_window *window, uint64_t address, uint64_t *word_out)
{
    if (address < window->lo || address >= window->hi || window->hi - address < sizeof *word_out) {
        return false;
    }
    memcpy(word_out, (const void *)(uintptr_t)(address + (uint64_t)window->delta), sizeof *word_out);
    return true;
}

/* ---- the walk ---- */

/* Walk, and walk again with the rows of each module that stopped it. */
static void walk(struct sbx_stack_reader *reader, struct sbx_process_modules *modules,
                 const struct sbx_stack_window *window, const struct sbx_walk_registers *start)
{
    for (unsigned i = 0; i < MODULES_PER_STACK; i++) {
        clear_table(reader);
        sbx_walk_stack(modules->map, &reader->cache, &reader->table, reader->epoch, window, start, &reader->walk);
        /* The outermost entry is the marker with the reason; the frame before it is the one without rows. */
        if (reader->walk.end != SBX_WALK_ROWS_PENDING || reader->walk.count < 2) {
            return;
        }
        const struct sbx_walk_frame *last = &reader->walk.frames[reader->walk.count - 2];
        bool is_exact = (last->flags & SBX_FRAME_IS_EXACT) != 0;
        if (!sbx_process_modules_want_rows(modules, is_exact ? last->pc : last->pc - 1)) {
            return;
        }
    }
}

static void add_frames(struct sbx_thread_stack *stack, const struct sbx_code_map *map, const struct sbx_walk *from)
{
    uint32_t count = from->count - (from->end != SBX_WALK_COMPLETE && from->count > 0);
    for (uint32_t i = 0; i < count && stack->count < SBX_STACK_FRAMES_MAX; i++) {
        const struct sbx_walk_frame *frame = &from->frames[i];
        if (from->omitted != 0 && frame->pc == 0) { /* the marker of left-out frames */
            stack->omitted = from->omitted;
            stack->omitted_at = (uint32_t)stack->count;
            continue;
        }
        bool is_exact = (frame->flags & SBX_FRAME_IS_EXACT) != 0;
        const struct sbx_code_range *range = sbx_code_map_find(map, is_exact ? frame->pc : frame->pc - 1);
        stack->frames[stack->count++] = (struct sbx_stack_frame){
            .pc = frame->pc, .is_exact = is_exact, .module = range != NULL ? range->module : UINT32_MAX};
    }
}

/* ---- a frame pointer that nobody told ---- */

struct stuck {
    uint64_t pc, sp;
    bool is_exact;
    uint64_t function; /* begin of the function with pc; 0: unknown */
};

enum call_fit {
    CALL_NONE = 0, /* no call ends there, or it calls another function */
    CALL_MAYBE,    /* a call whose target is not known */
    CALL_CERTAIN   /* a call of this function */
};

/* Does a call of the stuck function return to `address`? */
static enum call_fit call_before(struct sbx_process_modules *modules, const struct stuck *stuck, uint64_t address)
{
    const struct sbx_code_range *range = sbx_code_map_find(modules->map, address - 1);
    uint8_t code[8];
    if (range == NULL || address < sizeof code ||
        sbx_process_memory_read(modules->pid, address - sizeof code, code, sizeof code) != 0) {
        return CALL_NONE;
    }
#if defined(__x86_64__)
    if (code[3] == 0xe8) { /* call rel32 */
        int32_t distance;
        memcpy(&distance, code + 4, sizeof distance);
        uint64_t target = address + (uint64_t)(int64_t)distance;
        if (stuck->function == 0 || target == stuck->function) {
            return stuck->function == 0 ? CALL_MAYBE : CALL_CERTAIN;
        }
        /* Perhaps through a PLT stub, whose target is not searched; otherwise it calls another function. */
        return sbx_function_start(modules, target) == target ? CALL_NONE : CALL_MAYBE;
    }
    /* ff /2: two bytes (register), three (one-byte offset), six or seven (rip or four-byte offset) */
    for (unsigned at = 1; at <= 6; at++) {
        if (code[at] == 0xff && (code[at + 1] & 0x38) == 0x10) {
            return CALL_MAYBE;
        }
    }
    return CALL_NONE;
#else
    (void)stuck;
    uint32_t word;
    memcpy(&word, code + 4, sizeof word);
    bool is_call = (word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000; /* bl, blr */
    return is_call ? CALL_MAYBE : CALL_NONE;
#endif
}

/* Try each place where this function may have saved its caller's frame pointer. On success reader->walk begins at the
 * stuck frame. */
static bool search_frame_pointer(struct sbx_stack_reader *reader, struct sbx_process_modules *modules,
                                 const struct sbx_stack_window *window, const struct stuck *stuck)
{
    uint64_t maybe = 0;
    for (uint64_t at = stuck->sp & ~UINT64_C(7); at < stuck->sp + SEARCH_BYTES; at += 8) {
        uint64_t caller;
        if (!window_word(window, at + 8, &caller)) {
            break;
        }
        /* The saved value may be anything, because not every caller uses it as a pointer. */
        enum call_fit fit = call_before(modules, stuck, caller);
        if (fit == CALL_NONE || (fit == CALL_MAYBE && maybe != 0)) {
            continue;
        }
        struct sbx_walk_registers start = {
            .pc = stuck->pc, .sp = stuck->sp, .fp = at, .pc_is_exact = stuck->is_exact, .fp_known = true};
        walk(reader, modules, window, &start);
        if (reader->walk.end != SBX_WALK_COMPLETE) {
            continue;
        }
        if (fit == CALL_CERTAIN) {
            return true;
        }
        maybe = at; /* the nearest one, unless a certain one is further out */
    }
    if (maybe == 0) {
        return false;
    }
    struct sbx_walk_registers start = {
        .pc = stuck->pc, .sp = stuck->sp, .fp = maybe, .pc_is_exact = stuck->is_exact, .fp_known = true};
    walk(reader, modules, window, &start);
    return true;
}

/* Walk the copy, and go on when a frame pointer was missing. */
static void walk_copy(struct sbx_stack_reader *reader, struct sbx_process_modules *modules,
                      const struct sbx_thread_position *position, const struct sbx_stack_window *window,
                      struct sbx_thread_stack *stack)
{
    struct sbx_walk_registers start = {.pc = position->pc, .sp = position->sp, .pc_is_exact = true};
    walk(reader, modules, window, &start);
    add_frames(stack, modules->map, &reader->walk);
    stack->end = (enum sbx_walk_end)reader->walk.end;
    if (reader->walk.end != SBX_WALK_UNSUPPORTED || reader->walk.count < 2) {
        return;
    }
    const struct sbx_walk_frame *last = &reader->walk.frames[reader->walk.count - 2];
    if ((last->flags & SBX_FRAME_FP_KNOWN) != 0 || reader->walk.omitted != 0) {
        return;
    }
    struct stuck stuck = {.pc = last->pc, .sp = last->sp, .is_exact = (last->flags & SBX_FRAME_IS_EXACT) != 0};
    stuck.function = sbx_function_start(modules, stuck.is_exact ? stuck.pc : stuck.pc - 1);
    if (search_frame_pointer(reader, modules, window, &stuck)) {
        stack->count--; /* the new walk begins with the stuck frame */
        add_frames(stack, modules->map, &reader->walk);
        stack->end = (enum sbx_walk_end)reader->walk.end;
        stack->frame_pointer_was_searched = true;
    }
}

/* The walk met code of no module: the process may have loaded it, or called exec, since its maps were read. Returns
 * whether to walk again. */
static bool learn_modules(struct sbx_process_modules *modules, const struct sbx_thread_stack *stack)
{
    bool is_unknown = stack->end == SBX_WALK_NO_MODULE;
    for (size_t i = 0; i < stack->count && !is_unknown; i++) {
        is_unknown = stack->frames[i].module == UINT32_MAX;
    }
    return is_unknown && modules->may_refresh && sbx_process_modules_refresh(modules) > 0;
}

static bool is_same_sleep(const struct sbx_thread_position *left, const struct sbx_thread_position *right)
{
    return left->is_asleep && right->is_asleep && left->call == right->call && left->sp == right->sp &&
           left->pc == right->pc;
}

int sbx_stack_reader_read(struct sbx_stack_reader *reader, struct sbx_process_modules *modules, pid_t tid,
                          struct sbx_thread_position *position_out, struct sbx_thread_stack *stack_out)
{
    size_t bytes = FIRST_BYTES;
    for (unsigned attempt = 0;; attempt++) {
        struct sbx_thread_position after;
        uint64_t runs = sbx_thread_runs(modules->pid, tid);
        int result = sbx_thread_position_read(modules->pid, tid, position_out);
        stack_out->count = 0;
        stack_out->omitted = 0;
        stack_out->frame_pointer_was_searched = false;
        stack_out->end = SBX_WALK_BAD_MEMORY;
        stack_out->condition = SBX_STACK_RUNNING;
        if (result != 0 || !position_out->is_asleep) {
            return result;
        }
        struct sbx_stack_window window = copy_stack(reader, modules, position_out->sp, bytes);
        result = sbx_thread_position_read(modules->pid, tid, &after);
        if (result != 0) {
            return result;
        }
        bool has_moved = !is_same_sleep(position_out, &after) || sbx_thread_runs(modules->pid, tid) != runs;
        if (has_moved && attempt + 1 < ATTEMPTS) {
            continue;
        }
        stack_out->condition = has_moved ? SBX_STACK_MOVED : SBX_STACK_READ;
        if (window.hi <= position_out->sp) {
            stack_out->condition = SBX_STACK_UNREADABLE;
            return 0;
        }
        walk_copy(reader, modules, position_out, &window, stack_out);
        if (learn_modules(modules, stack_out)) {
            continue; /* once per look */
        }
        bool was_cut = window.hi - window.lo == bytes && stack_out->end != SBX_WALK_COMPLETE;
        if (!was_cut || bytes >= BYTES_MAX) {
            return 0;
        }
        bytes = bytes * 16 < BYTES_MAX ? bytes * 16 : BYTES_MAX; /* the stack is deeper than the copy */
    }
}
