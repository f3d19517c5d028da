/* SPDX-License-Identifier: Apache-2.0 */
/* js_stack.c - from the thread's state in its isolate to frames, and from frame to frame. */
#include "js_stack.h"

enum {
    FRAMES_MAX = 32768, /* more frames than the deepest stack that V8 allows */
    SEARCH_WORDS = 256, /* of a native function that generated code called without a note in the isolate */
    ISOLATE_BYTES = 65536,
    TRIES_MAX = 20000,
    STACK_BYTES_MAX = 1 << 30,
};

struct walk {
    const struct js_layout *layout;
    struct js_pages *pages;
    uint64_t low, high; /* range of frame pointers */
};

static bool is_frame(const struct walk *walk, uint64_t fp)
{
    return (fp & 7) == 0 && fp >= walk->low && fp <= walk->high && js_can_read(walk->pages, fp - 16, 32);
}

static bool is_entry_sort(const struct js_layout *layout, uint64_t word)
{
    return word == (uint64_t)layout->frame_entry << 1 || word == (uint64_t)layout->frame_construct_entry << 1;
}

/* ---- the isolate ---- */

static bool is_top(const struct js_layout *layout, struct js_pages *pages, uint64_t isolate, uint64_t at, uint64_t sp)
{
    if (!js_can_read(pages, at, JS_TOP_STATE + 8) || js_word_at(at) != isolate) {
        return false;
    }
    uint64_t entry = js_word_at(at + JS_TOP_ENTRY), last_exit = js_word_at(at + JS_TOP_LAST_EXIT);
    return (entry & 7) == 0 && entry > sp && entry - sp < STACK_BYTES_MAX &&
           js_half_at(at + JS_TOP_STATE) <= JS_STATE_LAST &&
           (last_exit == 0 || (last_exit > sp && last_exit < entry)) && js_can_read(pages, entry - 8, 24) &&
           is_entry_sort(layout, js_word_at(entry + JS_FRAME_CONTEXT));
}

static bool find_top(struct js_isolates *isolates, const struct js_layout *layout, struct js_pages *pages,
                     uint64_t isolate, uint64_t sp)
{
    if (__atomic_fetch_add(&isolates->tries, 1, __ATOMIC_RELAXED) > TRIES_MAX) {
        return false; /* relaxed: an approximate count */
    }
    for (uint32_t top = 8; top < ISOLATE_BYTES && js_can_read(pages, isolate + top, 8); top += 8) {
        if (js_word_at(isolate + top) == isolate && is_top(layout, pages, isolate, isolate + top, sp)) {
            __atomic_store_n(&isolates->top, top, __ATOMIC_RELAXED); /* relaxed: all threads store the same */
            return true;
        }
    }
    return false;
}

/* ---- where to begin ---- */

static bool is_code(const struct js_code *code, uint64_t pc)
{
    return pc - code->begin < code->bytes || pc - code->builtins_begin < code->builtins_bytes;
}

/* Is this a frame of generated code that generated code called? */
static bool is_made_frame(const struct walk *walk, const struct js_code *code, uint64_t fp)
{
    return is_frame(walk, fp) && js_word_at(fp) > fp && is_frame(walk, js_word_at(fp)) &&
           is_code(code, js_word_at(fp + 8));
}

/* For native code that JavaScript called directly, such as a clock or a barrier of the collector. The isolate may have
 * a note of the call. Or the frame pointer is still that of the caller. Or the caller's frame pointer is on the stack
 * directly below a return address in generated code. */
static bool search(const struct walk *walk, const struct js_begin *begin, const struct js_code *code, uint64_t isolate,
                   struct js_frame *frame_out)
{
    uint64_t note = isolate + walk->layout->fast_call;
    if (js_can_read(walk->pages, note, 16) && is_made_frame(walk, code, js_word_at(note))) {
        *frame_out = (struct js_frame){.fp = js_word_at(note), .pc = js_word_at(note + 8)};
        return true;
    }
    if (begin->pc != 0 && begin->fp >= begin->sp && is_made_frame(walk, code, begin->fp)) {
        *frame_out = (struct js_frame){.fp = begin->fp};
        return true;
    }
    for (uint64_t at = (begin->sp + 7) & ~UINT64_C(7), end = at + SEARCH_WORDS * 8; at < end && at + 8 < walk->high;
         at += 8) {
        if (!js_can_read(walk->pages, at, 16)) {
            return false;
        }
        uint64_t fp = js_word_at(at), pc = js_word_at(at + 8);
        if (is_code(code, pc) && fp > at && is_made_frame(walk, code, fp)) {
            *frame_out = (struct js_frame){.fp = fp, .pc = pc};
            return true;
        }
    }
    return false;
}

static bool find_begin(const struct walk *walk, const struct js_begin *begin, const struct js_code *code,
                       uint64_t isolate, uint64_t last_exit, struct js_frame *frame_out)
{
    *frame_out = (struct js_frame){.fp = last_exit};
    if (last_exit != 0) { /* also where native code runs generated code of its own, as for a regular expression */
        return is_frame(walk, last_exit);
    }
    if (begin->pc != 0 && is_code(code, begin->pc)) {
        struct js_frame frame = {.fp = begin->fp, .pc = begin->pc, .is_exact = true};
        if (!is_frame(walk, frame.fp)) {
            return false;
        }
        if (begin->sp + 16 > frame.fp) { /* in the prologue or epilogue: the function is not in it */
            frame = (struct js_frame){.fp = js_word_at(frame.fp), .pc = js_word_at(frame.fp + 8)};
        }
        *frame_out = frame;
        return is_frame(walk, frame.fp);
    }
    return search(walk, begin, code, isolate, frame_out);
}

/* ---- the walk ---- */

static enum js_walk_end walk_from(const struct walk *walk, const struct js_code *code, struct js_frame frame,
                                  js_visit visit, void *to)
{
    for (uint32_t i = 0; i < FRAMES_MAX; i++) {
        uint64_t word = js_word_at(frame.fp + JS_FRAME_CONTEXT), caller = js_word_at(frame.fp);
        frame.function = js_is_number(word) ? 0 : js_word_at(frame.fp + JS_FRAME_FUNCTION);
        bool is_entry = is_entry_sort(walk->layout, word) &&
                        frame.pc - code->builtins_begin < code->builtins_bytes; /* others may have any number */
        if ((frame.function != 0 || is_entry) && !visit(to, &frame)) {
            return JS_WALK_CUT;
        }
        uint64_t fp = frame.fp;
        frame = (struct js_frame){.fp = caller, .pc = js_word_at(fp + 8)};
        if (is_entry) {
            if (!js_can_read(walk->pages, fp + JS_FRAME_LAST_EXIT, 8)) {
                return JS_WALK_BROKEN;
            }
            frame = (struct js_frame){.fp = js_word_at(fp + JS_FRAME_LAST_EXIT)};
            if (frame.fp == 0) {
                return JS_WALK_WHOLE;
            }
        }
        if (frame.fp <= fp || !is_frame(walk, frame.fp)) {
            return JS_WALK_BROKEN;
        }
    }
    return JS_WALK_BROKEN;
}

uint64_t js_isolate_top(struct js_isolates *isolates, const struct js_layout *layout, struct js_pages *pages,
                        uint64_t isolate, uint64_t sp)
{
    uint32_t offset = __atomic_load_n(&isolates->top, __ATOMIC_RELAXED);
    if (offset == 0) {
        if (!find_top(isolates, layout, pages, isolate, sp)) {
            return 0;
        }
        offset = __atomic_load_n(&isolates->top, __ATOMIC_RELAXED);
    }
    return is_top(layout, pages, isolate, isolate + offset, sp) ? isolate + offset : 0;
}

enum js_walk_end js_stack_walk(const struct js_layout *layout, struct js_pages *pages, uint64_t isolate, uint64_t top,
                               const struct js_begin *begin, const struct js_code *code, js_visit visit, void *to)
{
    struct js_frame frame;
    struct walk walk = {layout, pages, begin->sp, js_word_at(top + JS_TOP_ENTRY)};
    if (!find_begin(&walk, begin, code, isolate, js_word_at(top + JS_TOP_LAST_EXIT), &frame)) {
        return JS_WALK_BROKEN;
    }
    return walk_from(&walk, code, frame, visit, to);
}
