/* SPDX-License-Identifier: Apache-2.0 */
/* java_stack.c - the Java frames of the calling thread.
 *
 * A frame is passed to the visitor only after the next frame was found, because only then it is known whether native
 * code called it. */
#include "java_stack.h"

#include <string.h>

enum {
    FRAMES_MAX = 4096,  /* generated frames in one walk */
    SCOPES_MAX = 64,    /* methods of one frame that are inlined into each other */
    SEARCH_WORDS = 256, /* of native frames between Java code and a native function that it calls without an anchor */
};

struct walk {
    const struct sbx_java_vm *vm;
    uint64_t thread;
    struct sbx_java_stack stack;
    struct sbx_vm_pages pages;
    struct sbx_java_call held; /* the last frame, not passed to the visitor yet */
    bool has_held, is_cut;
    sbx_java_visit visit;
    void *to;
    bool has_site;             /* the last frame's place can be stored: its methods get names from the visitor */
    uint32_t named;            /* how many methods have names */
    struct sbx_call_site site; /* valid with has_site only */
};

/* The method that was just visited is the next one of the current place. */
static void name_next(struct walk *walk)
{
    const struct sbx_java_call *held = &walk->held;
    if (!held->has_name) {
        walk->has_site = false;
        return;
    }
    walk->site.methods[walk->named++] =
        (struct sbx_site_method){.method = held->method, .id = held->id, .bci = held->bci, .line = held->line};
    if (walk->named == walk->site.count) {
        sbx_call_site_put(walk->vm->sites, &walk->site);
        walk->has_site = false;
    }
}

/* The held method was visited and has a name now. Stores it for the next walk. */
static __attribute__((noinline)) void keep_name(struct walk *walk)
{
    const struct sbx_java_call *held = &walk->held;
    if (walk->has_site) {
        name_next(walk);
    }
    if (walk->vm->places != NULL && held->key != 0 && held->has_name) {
        sbx_place_put(walk->vm->places, sbx_place_key(held->key, held->bci), held->id, held->line);
    }
}

static inline void tell_held(struct walk *walk, bool is_border)
{
    if (walk->has_held && !walk->is_cut) {
        bool had_name = walk->held.has_name;
        walk->held.is_border = is_border;
        walk->is_cut = !walk->visit(walk->to, &walk->held);
        if (SBX_UNLIKELY(!had_name)) {
            keep_name(walk);
        }
    }
    walk->has_held = false;
}

static void add(struct walk *walk, uint64_t method, uint64_t key, int32_t bci)
{
    tell_held(walk, false);
    walk->held = (struct sbx_java_call){.method = method, .bci = bci, .key = key};
    walk->has_held = true;
}

/* The current frame is at `site`, with `count` methods, if it is such a place. Frames before it are passed to the
 * visitor. */
static void begin_site(struct walk *walk, const struct sbx_call_site *site, uint32_t count)
{
    tell_held(walk, false);
    walk->has_site = count != 0 && count <= SBX_SITE_METHODS;
    if (walk->has_site) {
        walk->site = *site;
        walk->site.count = count;
        walk->named = 0;
    }
}

/* Returns how many methods a frame has; 0: the data is not valid to its end. */
static uint32_t count_scopes(const struct sbx_vm_layout *layout, struct sbx_scopes scopes)
{
    uint64_t method = 0;
    int32_t bci = 0;
    uint32_t count = 0;
    while (scopes.next != 0 && count < SCOPES_MAX) {
        if (!sbx_scopes_next(&scopes, layout, &method, &bci)) {
            return 0;
        }
        count++;
    }
    return scopes.next == 0 ? count : 0;
}

static void add_scopes(struct walk *walk, struct sbx_java_found *found)
{
    uint64_t method = 0;
    int32_t bci = 0;
    if (found->scopes.next == 0) { /* the method is known, its bytecode is not */
        add(walk, found->method, 0, 0);
        return;
    }
    if (found->site.compile_id != 0) {
        begin_site(walk, &found->site, count_scopes(&walk->vm->layout, found->scopes));
    }
    for (uint32_t i = 0; i < SCOPES_MAX && sbx_scopes_next(&found->scopes, &walk->vm->layout, &method, &bci); i++) {
        add(walk, method, 0, bci < 0 ? 0 : bci);
    }
}

/* Passes interpreted frames that an earlier walk has named. *frame becomes the first other frame. Returns the number
 * passed, at most `most`. */
static uint32_t pass_interpreted(struct walk *walk, struct sbx_java_frame *frame, uint32_t most)
{
    const struct sbx_java_vm *vm = walk->vm;
    struct sbx_java_passed passed;
    uint32_t count = 0;
    while (count < most && !walk->is_cut && sbx_code_cache_interprets(&vm->code, frame->pc) && vm->places != NULL &&
           sbx_java_frame_pass(vm, &walk->stack, frame, &passed)) {
        tell_held(walk, false);
        walk->held = (struct sbx_java_call){.method = passed.method,
                                            .bci = passed.bci,
                                            .is_interpreted = true,
                                            .has_name = true,
                                            .line = passed.line,
                                            .id = passed.id};
        walk->has_held = true;
        count++;
    }
    return count;
}

/* Passes a frame at a place that an earlier walk has stored. Returns false if there is none. */
static bool pass_known(struct walk *walk, struct sbx_java_frame *frame, struct sbx_call_site *site)
{
    if (walk->vm->sites == NULL || frame->is_exact || frame->may_call_native ||
        !sbx_call_site_find(walk->vm->sites, &walk->vm->layout, frame->pc, site) ||
        !sbx_java_frame_leave(&walk->stack, frame, site->frame_words)) {
        return false;
    }
    for (uint32_t i = 0; i < site->count; i++) {
        const struct sbx_site_method *it = &site->methods[i];
        tell_held(walk, false);
        walk->held = (struct sbx_java_call){
            .method = it->method, .bci = it->bci, .has_name = true, .line = it->line, .id = it->id};
        walk->has_held = true;
    }
    return true;
}

/* Reads from the calling thread's own JavaThread, which exists as long as the thread calls us, or from its stack. */
static uint64_t word_of(uint64_t address)
{
    uint64_t word = 0;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

/* Gets the frame that an anchor names. The anchor is the thread's, or that of a wrapper (is_wrapper()). Returns false
 * if it names none. */
static bool read_anchor(const struct walk *walk, uint64_t anchor, struct sbx_java_frame *frame_out)
{
    const struct sbx_vm_layout *layout = &walk->vm->layout;
    struct sbx_java_frame frame = {.pc = 0};
    frame.sp = word_of(anchor + layout->anchor_sp);
    frame.pc = word_of(anchor + layout->anchor_pc);
    frame.fp = word_of(anchor + layout->anchor_fp);
    if (frame.sp == 0 || frame.sp < walk->stack.low || frame.sp > walk->stack.high) {
        return false;
    }
    if (frame.pc == 0 && !sbx_java_stack_word(&walk->stack, frame.sp - 8, &frame.pc)) {
        return false;
    }
    frame.has_fp = frame.fp != 0;
    *frame_out = frame;
    return true;
}

/* Is there a JavaCallWrapper of the thread at `at`? Its anchor must name a frame farther out, or none. */
static bool is_wrapper(const struct walk *walk, uint64_t at)
{
    const struct sbx_vm_layout *layout = &walk->vm->layout;
    uint64_t anchor = at + layout->wrapper_anchor, owner = 0, sp = 0, pc = 0, fp = 0;
    if (!sbx_java_stack_word(&walk->stack, at, &owner) || owner != walk->thread ||
        !sbx_java_stack_word(&walk->stack, anchor + layout->anchor_sp, &sp) ||
        !sbx_java_stack_word(&walk->stack, anchor + layout->anchor_pc, &pc) ||
        !sbx_java_stack_word(&walk->stack, anchor + layout->anchor_fp, &fp)) {
        return false;
    }
    return sp == 0 ? pc == 0
                   : sp > at && sp < walk->stack.high && (pc == 0 || sbx_code_cache_holds(&walk->vm->code, pc));
}

/* Walk from `frame` to the last frame of the thread. */
static enum sbx_java_walk_end walk_from(struct walk *walk, struct sbx_java_frame frame)
{
    const struct sbx_java_vm *vm = walk->vm;
    struct sbx_java_found found;
    for (uint32_t i = 0; i < FRAMES_MAX; i++) {
        uint64_t fp = frame.fp, wrapper = 0;
        uint32_t passed = sbx_code_cache_interprets(&vm->code, frame.pc)
                              ? pass_interpreted(walk, &frame, FRAMES_MAX - i)
                              : pass_known(walk, &frame, &found.site);
        if (passed != 0) {
            if (walk->is_cut) {
                return SBX_WALK_CUT;
            }
            i += passed - 1;
            continue;
        }
        enum sbx_java_step step = sbx_java_frame_step(vm, &walk->stack, &frame, &found);
        switch (step) {
        case SBX_JAVA_INTERPRETED:
        case SBX_JAVA_NATIVE:
            if (found.site.compile_id != 0) {
                begin_site(walk, &found.site, 1);
            }
            add(walk, found.method, found.key, found.bci);
            walk->held.is_interpreted = step == SBX_JAVA_INTERPRETED;
            break;
        case SBX_JAVA_COMPILED:
            add_scopes(walk, &found);
            break;
        case SBX_JAVA_STUB:
            break;
        case SBX_JAVA_ENTRY:
            tell_held(walk, true);
            if (!sbx_java_stack_word(&walk->stack, fp + (uint64_t)((int64_t)vm->layout.entry_wrapper_slot * 8),
                                     &wrapper) ||
                !is_wrapper(walk, wrapper)) {
                return SBX_WALK_STACK;
            }
            walk->stack.low = frame.sp; /* the rest of the stack is farther out */
            if (!read_anchor(walk, wrapper + vm->layout.wrapper_anchor, &frame)) {
                return SBX_WALK_WHOLE;
            }
            break;
        case SBX_JAVA_NO_CODE:
            return SBX_WALK_NO_CODE;
        case SBX_JAVA_CONTINUATION:
            return SBX_WALK_CONTINUATION;
        case SBX_JAVA_BAD_STACK:
            return SBX_WALK_STACK;
        case SBX_JAVA_BAD_FRAME:
        default:
            return SBX_WALK_FRAME;
        }
        if (walk->is_cut) {
            return SBX_WALK_CUT;
        }
    }
    return SBX_WALK_TOO_DEEP;
}

/* Is there a call instruction directly before `pc`? `code` is where the instructions begin. */
static bool is_behind_call(uint64_t code, uint64_t pc)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)pc;
    uint64_t before = pc - code;
    return (before >= 5 && at[-5] == 0xe8) || (before >= 2 && at[-2] == 0xff && (at[-1] & 0xf8) == 0xd0) ||
           (before >= 3 && at[-3] == 0xff && (at[-2] & 0xf8) == 0x50) ||
           (before >= 6 && at[-6] == 0xff && ((at[-5] & 0xf8) == 0x90 || at[-5] == 0x15));
}

/* Is this a frame from which Java code called native code directly, without an anchor (a clock, a barrier of the
 * collector)? */
static bool is_left_frame(const struct sbx_code *code, uint64_t pc)
{
    bool has_frame = code->kind == SBX_CODE_COMPILED || code->kind == SBX_CODE_WRAPPER ||
                     (code->kind == SBX_CODE_STUB && code->frame_words != 0);
    return has_frame && pc > code->frame_is_set && is_behind_call(code->code, pc);
}

/* Called when the thread runs native code, and no anchor names the Java frame that it left. Either Java called a native
 * function directly, or the thread is about to enter Java, or has just come back. Returns whichever is found first on
 * the stack: a Java frame, or the wrapper of a call into Java. */
static bool search(const struct walk *walk, uint64_t from, struct sbx_java_frame *frame_out)
{
    for (uint32_t i = 0; i < SEARCH_WORDS; i++) {
        uint64_t at = from + (uint64_t)i * 8, word = 0;
        if (!sbx_java_stack_word(&walk->stack, at, &word)) {
            return false;
        }
        if (word == walk->thread && is_wrapper(walk, at)) {
            return read_anchor(walk, at + walk->vm->layout.wrapper_anchor, frame_out);
        }
        if (!sbx_code_cache_holds(&walk->vm->code, word)) {
            continue;
        }
        struct sbx_code code = sbx_code_find(&walk->vm->code, &walk->vm->layout, word);
        if (code.kind == SBX_CODE_CONTINUATION) {
            return false; /* farther out, frames of a virtual thread are being written, or stale ones remain */
        }
        if (is_left_frame(&code, word)) {
            *frame_out = (struct sbx_java_frame){.pc = word, .sp = at + 8, .is_exact = true};
            return true;
        }
    }
    return false;
}

static bool find_begin(const struct walk *walk, uint64_t thread, const struct sbx_java_begin *begin,
                       struct sbx_java_frame *frame_out)
{
    const struct sbx_vm_layout *layout = &walk->vm->layout;
    int32_t state = 0;
    memcpy(&state, (const void *)(uintptr_t)(thread + layout->thread_state), sizeof state);
    if (state != layout->state_in_java) {
        return read_anchor(walk, thread + layout->thread_anchor, frame_out);
    }
    if (sbx_code_cache_holds(&walk->vm->code, begin->pc)) {
        *frame_out = (struct sbx_java_frame){.pc = begin->pc,
                                             .sp = begin->sp,
                                             .fp = begin->fp,
                                             .is_exact = true,
                                             .has_fp = true,
                                             .has_registers = true,
                                             .bytecode = begin->bytecode,
                                             .method = begin->method};
        return true;
    }
    return read_anchor(walk, thread + layout->thread_anchor, frame_out) || search(walk, begin->sp, frame_out);
}

SBX_SIGNAL_SAFE enum sbx_java_walk_end sbx_java_walk(const struct sbx_java_vm *vm, uint64_t thread,
                                                     const struct sbx_java_begin *begin, sbx_java_visit visit, void *to)
{
    uint64_t base = word_of(thread + vm->layout.thread_stack_base),
             size = word_of(thread + vm->layout.thread_stack_size);
    struct walk walk; /* not zeroed: `site` is written before it is read */
    walk.vm = vm;
    walk.thread = thread;
    walk.pages = (struct sbx_vm_pages){.known = {0}};
    walk.stack = (struct sbx_java_stack){.low = begin->sp, .high = base, .pages = &walk.pages};
    walk.has_held = walk.is_cut = walk.has_site = false;
    walk.visit = visit;
    walk.to = to;
    struct sbx_java_frame frame;
    if (begin->sp >= base || base - begin->sp > size) {
        return SBX_WALK_STACK;
    }
    if (word_of(thread + vm->layout.thread_frame) != 0) {
        return SBX_WALK_DEOPT;
    }
    if (!find_begin(&walk, thread, begin, &frame)) {
        return SBX_WALK_NO_JAVA;
    }
    enum sbx_java_walk_end end = walk_from(&walk, frame);
    tell_held(&walk, false);
    return end;
}
