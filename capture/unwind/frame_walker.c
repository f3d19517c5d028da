/* SPDX-License-Identifier: Apache-2.0 */
/* frame_walker.c - the walk itself.
 *
 * Runs in hooks and handlers, so it calls only the row lookup and the frame table: no libc, not even memcpy. Every word
 * of a stack is read within the window: by read_word(), or by walk_ordinary() after its own checks. Every walk ends,
 * whatever the words hold: sp rises with each step (except across a signal frame), and a walk has at most
 * SBX_WALK_STEPS steps. */
#include "frame_walker.h"

#include "code_lookup.h"
#include "generated_code.h"
#include "order.h"
#include "stack_replay.h"

enum {
    STEPPED = UINT32_MAX, /* a result of a step, beside the values of enum sbx_walk_end */
    CACHE_SETS = SBX_WALK_CACHE_SLOTS / 2,
};

/* A word of a stack may alias any type. It belongs to no object that a sanitizer knows. */
typedef uint64_t stack_word __attribute__((may_alias));

#define READS_FOREIGN_STACKS __attribute__((no_sanitize("address", "thread")))

/* The position of the walk: the registers of one frame, and where they were read. */
struct frame {
    uint64_t pc, sp, fp;
    uint64_t link;             /* the return address while it is in a register */
    uint64_t slot, fp_slot;    /* as in struct sbx_walk_frame */
    const stack_word *context; /* all registers of this frame, or NULL */
    uint32_t flags;            /* enum sbx_walk_flag, and enum private_flag */
};

/* Flags of the current frame, beside enum sbx_walk_flag. */
enum private_flag {
    STRANDED = 16,   /* interrupted on another stack; this walk may not read it */
    LINK_KNOWN = 32, /* `link` is the return address, if the rule says that it is in a register */
    SP_LOST = 64,    /* fp did not give sp: the real sp is `sp` or further out */
};

READS_FOREIGN_STACKS static inline bool read_word(const struct sbx_stack_window *window, uint64_t address,
                                                  uint64_t *word_out)
{
    if (SBX_UNLIKELY((address & 7) != 0 || address < window->lo || address >= window->hi || window->hi - address < 8)) {
        return false;
    }
    *word_out = *(const stack_word *)(uintptr_t)(address + (uint64_t)window->delta);
    return true;
}

READS_FOREIGN_STACKS static uint64_t read_context(const stack_word *context, uint32_t word)
{
    return context[word];
}

/* ---- what is known about a pc ---- */

SBX_NOINLINE static void clear_cache(struct sbx_walk_cache *cache, uint32_t generation, uint32_t epoch)
{
    for (uint32_t i = 0; cache->generation != 0 && i < SBX_WALK_CACHE_SLOTS; i++) { /* 0: fresh pages */
        sbx_store_relaxed(&cache->slots[i].pc, 0); /* own thread only; atomic, so that no memset is made of it */
    }
    cache->generation = generation;
    cache->epoch = epoch;
}

static inline void keep_cache_fresh(struct sbx_walk_cache *cache, uint32_t generation, uint32_t epoch)
{
    if (SBX_UNLIKELY(cache->generation != generation || cache->epoch != epoch)) {
        clear_cache(cache, generation, epoch);
    }
}

/* Put a slot first in its set. The first slot becomes the second, and the second is forgotten. */
static void remember(struct sbx_walk_cache_slot *set, const struct sbx_walk_cache_slot *slot)
{
    set[1] = set[0];
    set[0] = *slot;
}

/* ---- steps: each moves `frame` to its caller, or returns why it cannot ---- */

/* A step over a frame that pushed fp first and then let fp point at it. Plausible only when the pair lies further out
 * than sp. */
static bool step_by_frame_pointer(const struct sbx_stack_window *window, struct frame *frame)
{
    uint64_t fp, pc;
    if ((frame->flags & SBX_FRAME_FP_KNOWN) == 0 || frame->fp < frame->sp || frame->fp > UINT64_MAX - 16 ||
        !read_word(window, frame->fp + 8, &pc) || !read_word(window, frame->fp, &fp)) {
        return false;
    }
    frame->slot = frame->fp + 8;
    frame->fp_slot = frame->fp;
    frame->sp = frame->fp + 16;
    frame->fp = fp;
    frame->pc = sbx_plain_address(pc);
    frame->flags = SBX_FRAME_FP_KNOWN | (SBX_FP_TELLS_SP ? 0 : SP_LOST | SBX_FRAME_OPAQUE);
    frame->context = NULL;
    return true;
}

/* The kernel's signal frame: the interrupted registers lie at sp. From here on the stack may be another one. */
static uint32_t step_over_signal(const struct sbx_stack_window *window, struct frame *frame)
{
    uint64_t context = frame->sp + SBX_CONTEXT_AT;
    uint64_t word;
    if (context < frame->sp || !read_word(window, context, &word) ||
        !read_word(window, context + 8 * (SBX_CONTEXT_WORDS - 1), &word)) {
        return SBX_WALK_BAD_MEMORY;
    }
    const stack_word *words = (const stack_word *)(uintptr_t)(context + (uint64_t)window->delta);
    frame->slot = context + 8 * SBX_CONTEXT_PC;
    frame->fp_slot = context + 8 * SBX_CONTEXT_FP;
    frame->pc = read_context(words, SBX_CONTEXT_PC);
    frame->sp = read_context(words, SBX_CONTEXT_SP);
    frame->fp = read_context(words, SBX_CONTEXT_FP);
    frame->link = sbx_plain_address(read_context(words, SBX_CONTEXT_LINK));
    frame->flags = SBX_FRAME_FP_KNOWN | SBX_FRAME_IS_EXACT | SBX_FRAME_OPAQUE | /* sp came from memory as well */
                   (SBX_HAS_LINK_REGISTER ? LINK_KNOWN : 0);
    frame->context = words;
    if (frame->sp < window->lo || frame->sp >= window->hi) {
        frame->flags |= STRANDED;
    }
    return STEPPED;
}

/* Find the CFA of a rule of kind 1 to 7. Returns STEPPED, or why there is no CFA. */
static inline uint32_t find_cfa(const struct sbx_stack_window *window, const struct frame *frame, uint32_t rule,
                                uint64_t *cfa_out)
{
    uint32_t kind = sbx_rule_kind(rule);
    if (SBX_LIKELY(kind == SBX_RULE_FROM_SP)) {
        *cfa_out = frame->sp + (uint64_t)sbx_rule_offset(rule);
        return STEPPED;
    }
    if (SBX_LIKELY(kind == SBX_RULE_FROM_FP)) {
        *cfa_out = frame->fp + (uint64_t)sbx_rule_offset(rule);
        return (frame->flags & SBX_FRAME_FP_KNOWN) != 0 ? STEPPED : (uint32_t)SBX_WALK_UNSUPPORTED;
    }
    struct sbx_cfa_place place;
    switch (sbx_rule_cfa(rule, frame->pc, &place)) {
    case SBX_CFA_FROM_SP:
        *cfa_out = frame->sp + (uint64_t)place.offset;
        return STEPPED;
    case SBX_CFA_AT_FP:
        if ((frame->flags & SBX_FRAME_FP_KNOWN) == 0) {
            return SBX_WALK_UNSUPPORTED;
        }
        if (!read_word(window, frame->fp + (uint64_t)place.offset, cfa_out)) {
            return SBX_WALK_BAD_MEMORY;
        }
        *cfa_out += place.addend;
        return STEPPED;
    case SBX_CFA_AT_SP:
        if (!read_word(window, frame->sp + (uint64_t)place.offset, cfa_out)) {
            return SBX_WALK_BAD_MEMORY;
        }
        *cfa_out += place.addend;
        return STEPPED;
    case SBX_CFA_FROM_WORD:
        if (frame->context == NULL) {
            return SBX_WALK_UNSUPPORTED;
        }
        *cfa_out = read_context(frame->context, place.word) + (uint64_t)place.offset;
        return STEPPED;
    default:
        return SBX_WALK_UNSUPPORTED;
    }
}

/* Restore the caller's frame pointer. When its slot cannot be read, only the frame pointer is lost: the caller may not
 * need it. */
static inline void restore_frame_pointer(const struct sbx_stack_window *window, struct frame *frame, uint32_t rule,
                                         uint64_t cfa)
{
    uint32_t field = sbx_rule_fp(rule);
    frame->fp_slot = 0;
    if (field == SBX_RULE_FP_SAME) {
        return;
    }
    if (field <= SBX_RULE_FP_SLOT_MAX) {
        frame->fp_slot = sbx_rule_fp_slot(rule, frame->sp, cfa);
    } else if (field == SBX_RULE_FP_AT_FP && (frame->flags & SBX_FRAME_FP_KNOWN) != 0) {
        if (frame->fp < frame->sp || frame->fp >= cfa) {
            return; /* not in this frame: gcc's epilogue of an aligned frame popped it, but the rows do not say so */
        }
        frame->fp_slot = frame->fp;
    } else {
        frame->flags &= ~(uint32_t)SBX_FRAME_FP_KNOWN;
        return;
    }
    if (read_word(window, frame->fp_slot, &frame->fp)) {
        frame->flags |= SBX_FRAME_FP_KNOWN;
    } else {
        frame->flags = (frame->flags & ~(uint32_t)SBX_FRAME_FP_KNOWN) | SBX_FRAME_OPAQUE;
    }
}

/* A step over a frame whose sp is not known although its rule needs sp. If the frame keeps a record, fp is enough,
 * because fp points at the record. */
static uint32_t step_without_sp(const struct sbx_stack_window *window, struct frame *frame, uint32_t rule)
{
    return sbx_rule_has_record(rule) && step_by_frame_pointer(window, frame) ? STEPPED : (uint32_t)SBX_WALK_UNSUPPORTED;
}

SBX_NOINLINE static uint32_t step_by_rule(const struct sbx_stack_window *window, struct frame *frame, uint32_t rule)
{
    uint64_t cfa, pc;
    if (!SBX_FP_TELLS_SP && (frame->flags & SP_LOST) != 0 && sbx_rule_kind(rule) != SBX_RULE_FROM_FP) {
        return step_without_sp(window, frame, rule);
    }
    uint32_t result = find_cfa(window, frame, rule, &cfa);
    if (SBX_UNLIKELY(result != STEPPED)) {
        return result;
    }
    uint64_t slot = sbx_rule_return_slot(rule, frame->sp, frame->fp, cfa);
    bool in_link = SBX_HAS_LINK_REGISTER && slot == 0;
    if (SBX_UNLIKELY(cfa <= frame->sp && !(in_link && cfa == frame->sp))) {
        return SBX_WALK_NO_PROGRESS;
    }
    if (SBX_UNLIKELY(in_link)) {
        if ((frame->flags & LINK_KNOWN) == 0) {
            return SBX_WALK_UNSUPPORTED;
        }
        pc = frame->link; /* valid once: the registers of the next frame are not known */
    } else if (SBX_UNLIKELY(!read_word(window, slot, &pc))) {
        return SBX_WALK_BAD_MEMORY;
    }
    frame->flags = (frame->flags & SBX_FRAME_FP_KNOWN) | (sbx_rule_is_plain(rule) ? 0 : SBX_FRAME_OPAQUE);
    restore_frame_pointer(window, frame, rule, cfa);
    frame->slot = slot;
    frame->pc = sbx_plain_address(pc);
    frame->sp = cfa;
    frame->context = NULL;
    return STEPPED;
}

/* Rules that do not define a CFA. */
SBX_NOINLINE static uint32_t step_by_special(const struct sbx_stack_window *window, struct frame *frame, uint32_t rule)
{
    switch (rule) {
    case SBX_RULE_END:
        return SBX_WALK_COMPLETE;
    case SBX_RULE_SIGNAL:
        return step_over_signal(window, frame);
    case SBX_RULE_NONE:
        return step_by_frame_pointer(window, frame) ? STEPPED : (uint32_t)SBX_WALK_NO_ROW;
    case SBX_RULE_NO_MODULE:
        return step_by_frame_pointer(window, frame) ? STEPPED : (uint32_t)SBX_WALK_NO_MODULE;
    default:
        return SBX_WALK_UNSUPPORTED;
    }
}

/* A step over a frame of generated code, done by the runtime that generated it. False: the frame pointer is the only
 * way left. */
static bool step_by_runtime(const struct sbx_stack_window *window, struct frame *frame,
                            const struct sbx_generated_range *range)
{
    struct sbx_code_frame at = {
        .pc = frame->pc,
        .sp = frame->sp,
        .fp = frame->fp,
        .stack_low = window->lo,
        .stack_high = window->hi,
        .stack_delta = window->delta,
        .flags = ((frame->flags & SBX_FRAME_IS_EXACT) != 0 ? SBX_CODE_FRAME_IS_EXACT : 0) |
                 ((frame->flags & SBX_FRAME_FP_KNOWN) != 0 ? SBX_CODE_FRAME_HAS_FP : 0),
    };
    if (range->step == NULL || !range->step(&at) || at.sp <= frame->sp || at.sp > window->hi || (at.sp & 7) != 0) {
        return false;
    }
    frame->pc = sbx_plain_address(at.pc);
    frame->sp = at.sp;
    frame->fp = at.fp;
    frame->slot = 0;
    frame->fp_slot = 0;
    frame->context = NULL;
    frame->flags = ((at.flags & SBX_CODE_FRAME_HAS_FP) != 0 ? SBX_FRAME_FP_KNOWN : 0) |
                   SBX_FRAME_OPAQUE; /* no stack slots decide this frame */
    return true;
}

/* ---- the walk ---- */

/* Has the walk reached a known frame? The stack pointers of both sides rise outwards, so one pass over each is enough.
 * For frames further in than the innermost known one, only the stack pointer is compared. */
static inline bool is_known(struct sbx_known_frames *known, uint64_t pc, uint64_t sp, uint64_t fp, uint32_t flags)
{
    const struct sbx_replay *replay = known->replay;
    uint64_t below = replay->stack_high - sp;
    while ((replay->frames[known->at].sp_flags & ~7u) > below) {
        if (known->at == 0) {
            return false;
        }
        known->at--;
    }
    const struct sbx_replay_frame *met = &replay->frames[known->at];
    uint32_t differs = met->sp_flags ^ flags;
    if ((met->sp_flags & ~7u) != below || met->pc != pc || (differs & SBX_FRAME_IS_EXACT) != 0) {
        return false;
    }
    return (met->sp_flags & SBX_REPLAY_FP_COUNTS) == 0 ||
           ((differs & SBX_FRAME_FP_KNOWN) == 0 && (met->fp == fp || (flags & SBX_FRAME_FP_KNOWN) == 0));
}

/* The index for frame number `count`. The innermost frames keep their places; the outermost ones share a ring of
 * SBX_WALK_ROOT places. */
static inline uint32_t place_of(uint32_t count)
{
    const uint32_t leaf_max = SBX_WALK_MAX - SBX_WALK_ROOT;
    return SBX_LIKELY(count < SBX_WALK_MAX) ? count : leaf_max + (count - leaf_max) % SBX_WALK_ROOT;
}

/* Put the outermost frames of a deep walk in order, behind a marker. Returns the number of frames after that. */
SBX_NOINLINE static uint32_t close_cut(struct sbx_walk *walk, struct sbx_callstack_table *table, uint32_t epoch,
                                       uint32_t count)
{
    const uint32_t leaf_max = SBX_WALK_MAX - SBX_WALK_ROOT;
    uint32_t oldest = (count - leaf_max) % SBX_WALK_ROOT;
    for (uint32_t i = 0; i < SBX_WALK_ROOT; i++) {
        walk->spare[i] = walk->frames[leaf_max + (oldest + i) % SBX_WALK_ROOT];
    }
    walk->omitted = count - SBX_WALK_MAX;
    walk->frames[leaf_max] =
        (struct sbx_walk_frame){.frame_id = sbx_frame_intern(table, epoch, sbx_frame_word(SBX_MODULE_CUT, 0, 0))};
    for (uint32_t i = 0; i < SBX_WALK_ROOT; i++) {
        walk->frames[leaf_max + 1 + i] = walk->spare[i];
    }
    return SBX_WALK_MAX + 1;
}

/* Find what is known about a pc: from the cache or, out of line, from the code map and the rows. */
static inline struct sbx_walk_cache_slot find_out(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                                  struct sbx_callstack_table *table, uint32_t epoch, uint64_t pc,
                                                  bool exact, bool *pending_out)
{
    struct sbx_walk_cache_slot *set = &cache->slots[(pc % CACHE_SETS) * 2];
    uint64_t key = pc | (exact ? SBX_EXACT_KEY : 0);
    bool cacheable = (pc - 1) >> SBX_USER_ADDRESS_BITS == 0; /* neither 0 nor outside user space */
    if (SBX_LIKELY(cacheable && set[0].pc == key)) {
        return set[0];
    }
    if (SBX_LIKELY(cacheable && set[1].pc == key)) {
        return set[1];
    }
    bool pending;
    struct sbx_walk_cache_slot found = sbx_code_look_up(map, table, epoch, pc, exact, &pending);
    if (cacheable && !pending && found.frame_id != 0) {
        remember(set, &found);
    }
    *pending_out = pending;
    return found;
}

/* Walk frames of the common kind: the pc is in the cache, the CFA is relative to sp or fp, fp is known, and fp is saved
 * below the CFA or not at all. Writes frames from `first` up to `end`, and returns the place behind the last one
 * written. `frame` is then the first frame that is different in any way, or a known one (*met_out). This loop is the
 * main cost of a capture that is not replayed. It is always inlined, because a call is slower where only a few frames
 * are walked. */
READS_FOREIGN_STACKS __attribute__((always_inline)) static inline struct sbx_walk_frame *
walk_ordinary(const struct sbx_walk_cache *cache, const struct sbx_stack_window *window, struct sbx_known_frames *known,
              struct frame *frame, struct sbx_walk_frame *first, const struct sbx_walk_frame *end, bool *met_out)
{
    struct sbx_walk_frame *out = first;
    const struct sbx_walk_cache_slot(*const sets)[2] = (const struct sbx_walk_cache_slot(*)[2])cache->slots;
    const uint64_t lo = window->lo, hi = window->hi, delta = (uint64_t)window->delta;
    uint64_t pc = frame->pc, sp = frame->sp, fp = frame->fp, slot = frame->slot, fp_slot = frame->fp_slot;
    uint32_t seen = frame->flags; /* FP_KNOWN, and IS_EXACT possibly for the innermost frame */
    uint64_t key = pc | ((seen & SBX_FRAME_IS_EXACT) != 0 ? SBX_EXACT_KEY : 0);
    const uint64_t known_sp =
        known != NULL ? known->replay->stack_high - (known->replay->frames[known->at].sp_flags & ~7u) : UINT64_MAX;
    for (; out < end; out++) {
        if (SBX_UNLIKELY(sp >= known_sp) && is_known(known, pc, sp, fp, seen)) {
            *met_out = true;
            break;
        }
        /* Written now, so that the registers are free for the caller's values. */
        out->pc = pc;
        out->sp = sp;
        out->fp = fp;
        out->slot = slot;
        out->fp_slot = fp_slot;
        const struct sbx_walk_cache_slot *found = sets[pc % CACHE_SETS];
        if (SBX_UNLIKELY(found->pc != key)) {
            found++;
            if (found->pc != key) {
                goto differs;
            }
        }
        const uint32_t rule = found->rule, kind = sbx_rule_kind(rule);
        const uint64_t fp_bytes = sbx_rule_fp_bytes(rule);
        uint64_t step = (uint64_t)sbx_rule_offset(rule); /* from sp to the CFA; like sp a multiple of 8 */
        uint32_t flags = seen;
        if (SBX_LIKELY(kind == SBX_RULE_FROM_SP)) {
            flags |= SBX_FRAME_FP_IDLE;
        } else if (kind == SBX_RULE_FROM_FP) {
            step += fp - sp;
            if (SBX_UNLIKELY(step % 8 != 0)) {
                goto differs;
            }
        } else {
            goto differs;
        }
        if (SBX_UNLIKELY(step - 1 >= hi - sp)) { /* the CFA is not further out than sp, or is outside the window */
            goto differs;
        }
        const uint64_t cfa = sp + step;
        slot = sbx_rule_return_slot(rule, sp, fp, cfa);
        if (SBX_HAS_LINK_REGISTER && (slot < lo || slot > hi - 8)) {
            goto differs;
        }
        fp_slot = 0;
        if (fp_bytes != 8 * SBX_RULE_FP_SAME) {
            fp_slot = sbx_rule_fp_slot(rule, sp, cfa);
            /* The slot is in the frame, and so in the window. With a link register it may lie elsewhere. */
            bool is_apart = SBX_HAS_LINK_REGISTER ? fp_slot < lo || fp_slot > hi - 8 : fp_bytes > step;
            if (SBX_UNLIKELY(fp_bytes > 8 * SBX_RULE_FP_SLOT_MAX || is_apart)) {
                goto differs;
            }
            fp = *(const stack_word *)(uintptr_t)(fp_slot + delta);
        }
        sp = cfa;
        key = pc = sbx_plain_address(*(const stack_word *)(uintptr_t)(slot + delta));
        if (SBX_UNLIKELY((pc - 1) >> SBX_USER_ADDRESS_BITS != 0)) {
            goto differs; /* the root, or an invalid value */
        }
        const uint32_t frame_id = found->frame_id;
        out->frame_id = frame_id & ~SBX_SKIP_BIT;
        out->flags = flags | (frame_id >> 31) * SBX_FRAME_SKIPPED;
        seen = SBX_FRAME_FP_KNOWN;
    }
    if (SBX_LIKELY(out != first)) {
        *frame = (struct frame){.pc = pc, .sp = sp, .fp = fp, .slot = slot, .fp_slot = fp_slot, .flags = seen};
    }
    return out;
differs:
    if (SBX_LIKELY(out != first)) {
        *frame = (struct frame){
            .pc = out->pc, .sp = out->sp, .fp = out->fp, .slot = out->slot, .fp_slot = out->fp_slot, .flags = seen};
    }
    return out;
}

/* Does a step by this rule work without the value of fp? The rule may still say where the caller's fp is saved. */
static inline bool leaves_fp_alone(uint32_t rule, uint32_t flags)
{
    if (!SBX_FP_TELLS_SP && (flags & SP_LOST) != 0) {
        return false; /* fp replaces sp: see step_without_sp() */
    }
    return rule == SBX_RULE_END ||
           (sbx_rule_kind(rule) == SBX_RULE_FROM_SP && sbx_rule_fp(rule) <= SBX_RULE_FP_SLOT_MAX);
}

/* May `frame` and the frames outside of it be of the common kind? When its sp lies in the window, their sp does too. */
static inline bool may_be_ordinary(const struct frame *frame, const struct sbx_stack_window *window)
{
    return (frame->flags & ~(uint32_t)SBX_FRAME_IS_EXACT) == SBX_FRAME_FP_KNOWN && frame->sp >= window->lo &&
           frame->sp % 8 == 0;
}

static inline struct frame first_frame(const struct sbx_walk_registers *start)
{
    return (struct frame){
        .pc = start->pc,
        .sp = start->sp,
        .fp = start->fp,
        .context = (const stack_word *)start->context,
        .link = sbx_plain_address(start->link),
        .flags = (start->fp_known ? SBX_FRAME_FP_KNOWN : 0) | (start->pc_is_exact ? SBX_FRAME_IS_EXACT : 0) |
                 (start->context != NULL ? SBX_FRAME_OPAQUE : 0) | (start->link_known ? LINK_KNOWN : 0),
    };
}

/* Walk until the root, or until a known frame. Returns true when it met a known frame; known->at is then its index.
 * `begin` is frame number `count`. */
SBX_NOINLINE static bool walk_frames(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                     struct sbx_callstack_table *table, uint32_t epoch,
                                     const struct sbx_stack_window *window, const struct frame *begin, uint32_t count,
                                     struct sbx_known_frames *known, struct sbx_walk *walk_out)
{
    struct frame frame = *begin;
    uint32_t unknown_begin = UINT32_MAX; /* first of the current frames outside every module; UINT32_MAX: none */
    uint32_t guess_begin = UINT32_MAX;   /* first of the frames found only by fp, from code without a row; none */
    uint32_t end;

    for (;;) {
        bool is_met = false;
        if (may_be_ordinary(&frame, window) && count < SBX_WALK_MAX) {
            struct sbx_walk_frame *const first = &walk_out->frames[count], *const last =
                                                                               &walk_out->frames[SBX_WALK_MAX];
            const struct sbx_walk_frame *behind = walk_ordinary(cache, window, known, &frame, first, last, &is_met);
            if (behind != first) {
                count = (uint32_t)(behind - walk_out->frames);
                unknown_begin = UINT32_MAX;
                guess_begin = UINT32_MAX;
            }
        } else if (known != NULL) {
            is_met = is_known(known, frame.pc, frame.sp, frame.fp, frame.flags);
        }
        if (is_met) {
            walk_out->count = count;
            return true;
        }
        bool pending = false;
        struct sbx_walk_cache_slot found =
            find_out(map, cache, table, epoch, frame.pc, (frame.flags & SBX_FRAME_IS_EXACT) != 0, &pending);
        if (SBX_UNLIKELY(count == SBX_WALK_STEPS)) {
            end = SBX_WALK_TOO_DEEP;
            break;
        }
        const struct sbx_generated_range *range = NULL;
        if (SBX_UNLIKELY(found.rule == SBX_RULE_NO_MODULE || found.rule == SBX_RULE_NONE)) {
            range = sbx_generated_find(sbx_lookup_address(frame.pc, (frame.flags & SBX_FRAME_IS_EXACT) != 0));
        }
        if (SBX_UNLIKELY(range != NULL)) { /* the range may be newer than the first lookup of this pc */
            found.frame_id = sbx_frame_intern(table, epoch, sbx_generated_word(range->provider));
        }
        struct sbx_walk_frame *out = &walk_out->frames[place_of(count)];
        out->pc = frame.pc;
        out->sp = frame.sp;
        out->fp = frame.fp;
        out->slot = frame.slot;
        out->fp_slot = frame.fp_slot;
        out->frame_id = found.frame_id & ~SBX_SKIP_BIT;
        out->flags = (frame.flags & (SBX_FRAME_SEEN_FLAGS | SBX_FRAME_OPAQUE)) |
                     (found.frame_id >> 31) * SBX_FRAME_SKIPPED |
                     leaves_fp_alone(found.rule, frame.flags) * SBX_FRAME_FP_IDLE;
        count++;
        if (found.frame_id == 0) { /* the frame table is full: the stack is lost, and the table counts it */
            end = SBX_WALK_TOO_DEEP;
            break;
        }
        if (pending || (frame.flags & STRANDED) != 0) {
            end = pending ? SBX_WALK_ROWS_PENDING : SBX_WALK_BAD_MEMORY;
            break;
        }
        if (sbx_rule_kind(found.rule) != SBX_RULE_SPECIAL) {
            unknown_begin = UINT32_MAX;
            guess_begin = UINT32_MAX;
            end = step_by_rule(window, &frame, found.rule);
        } else if (range != NULL && step_by_runtime(window, &frame, range)) {
            unknown_begin = UINT32_MAX;
            guess_begin = UINT32_MAX;
            end = STEPPED;
        } else {
            if (found.rule != SBX_RULE_NO_MODULE) {
                unknown_begin = UINT32_MAX;
            } else if (unknown_begin == UINT32_MAX) {
                unknown_begin = count - 1;
            }
            if (found.rule == SBX_RULE_NONE && guess_begin == UINT32_MAX) {
                guess_begin = count;
            }
            end = step_by_special(window, &frame, found.rule);
        }
        if (end != STEPPED) {
            break;
        }
        if (SBX_UNLIKELY(frame.pc == 0 && (frame.flags & SBX_FRAME_IS_EXACT) == 0)) {
            end = unknown_begin == UINT32_MAX ? SBX_WALK_COMPLETE : SBX_WALK_NO_MODULE;
            break;
        }
    }

    if (SBX_UNLIKELY(unknown_begin != UINT32_MAX && end == SBX_WALK_NO_MODULE && unknown_begin < SBX_WALK_MAX)) {
        count = unknown_begin + 1; /* links from unknown code that led to no known code prove nothing */
        if (guess_begin < count) { /* also not the link from code without a row to it: fp was not a frame pointer */
            count = guess_begin;
            end = SBX_WALK_NO_ROW;
        }
        walk_out->frames[count - 1].flags |= SBX_FRAME_OPAQUE; /* those links decided that this frame is the last */
    }
    if (SBX_UNLIKELY(count > SBX_WALK_MAX)) {
        count = close_cut(walk_out, table, epoch, count);
    }
    if (end != SBX_WALK_COMPLETE) {
        walk_out->frames[count++] =
            (struct sbx_walk_frame){.frame_id = sbx_frame_intern(table, epoch, sbx_frame_word(SBX_MODULE_END, end, 0))};
    }
    walk_out->count = count;
    walk_out->end = end;
    return false;
}

SBX_NOINLINE void sbx_walk_stack(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                                 struct sbx_callstack_table *table, uint32_t epoch,
                                 const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                                 struct sbx_walk *walk_out)
{
    const struct frame frame = first_frame(start);
    keep_cache_fresh(cache, map->generation, epoch);
    walk_out->omitted = 0;
    walk_frames(map, cache, table, epoch, window, &frame, 0, NULL, walk_out);
}

bool sbx_walk_until_known(const struct sbx_code_map *map, struct sbx_walk_cache *cache,
                          struct sbx_callstack_table *table, uint32_t epoch, const struct sbx_stack_window *window,
                          const struct sbx_walk_registers *start, struct sbx_known_frames *known,
                          struct sbx_walk *walk_out)
{
    struct frame frame = first_frame(start);
    const struct sbx_walk_frame *behind = walk_out->frames;
    bool is_met = false;
    keep_cache_fresh(cache, map->generation, epoch);
    walk_out->omitted = 0;
    if (SBX_LIKELY(may_be_ordinary(&frame, window))) { /* usually all frames up to the known one are of this kind */
        behind =
            walk_ordinary(cache, window, known, &frame, walk_out->frames, &walk_out->frames[SBX_WALK_MAX], &is_met);
    }
    walk_out->count = (uint32_t)(behind - walk_out->frames);
    return SBX_LIKELY(is_met) ||
           walk_frames(map, cache, table, epoch, window, &frame, walk_out->count, known, walk_out);
}

uint32_t sbx_walk_intern(const struct sbx_walk *walk, struct sbx_callstack_table *table, uint32_t epoch)
{
    uint32_t node = 0;
    bool has_frames = false;
    for (uint32_t i = walk->count; i > 0; i--) {
        const struct sbx_walk_frame *frame = &walk->frames[i - 1];
        if ((frame->flags & SBX_FRAME_SKIPPED) != 0) {
            continue;
        }
        has_frames = true;
        node = frame->frame_id == 0 ? 0 : sbx_node_intern(table, epoch, node, frame->frame_id);
        if (node == 0) {
            return SBX_STACK_OVERFLOW;
        }
    }
    return has_frames ? sbx_callstack_id(epoch, node) : SBX_STACK_NONE;
}
