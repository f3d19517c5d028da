/* SPDX-License-Identifier: Apache-2.0 */
/* frame_walker.c - the walk itself.
 *
 * Runs in hooks and handlers, so it calls nothing but the row lookup and the frame table: no libc, not even memcpy.
 * Every word of a stack comes through read_word(), which is the one place that decides what may be read; whatever the
 * words say, sp rises with each step (but across a signal frame) and a walk has at most SBX_WALK_MAX frames, so it
 * ends. */
#include "frame_walker.h"

#include "order.h"

#define EXACT_KEY (UINT64_C(1) << 63)
#define SKIP_BIT  (UINT32_C(1) << 31)

enum {
    USER_ADDRESS_BITS = 47, /* beyond lies the kernel, or nothing: never cached, as bit 63 of a key is taken */
    STEPPED = UINT32_MAX,   /* a step's result beside enum sbx_walk_end */
    CACHE_SETS = SBX_WALK_CACHE_SLOTS / 2,
};

/* Words of a stack alias anything, and belong to no object a sanitizer knows. */
typedef uint64_t stack_word __attribute__((may_alias));

#define READS_FOREIGN_STACKS __attribute__((no_sanitize("address", "thread")))

/* Where the walk stands: one frame's registers. */
struct frame {
    uint64_t pc, sp, fp;
    const stack_word *context; /* all registers of this frame, or NULL */
    bool exact;                /* pc is where it was interrupted, not a return address */
    bool fp_known;
    bool stranded; /* interrupted on another stack, which this walk may not read */
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

const struct sbx_code_range *sbx_code_map_find(const struct sbx_code_map *map, uint64_t address)
{
    uint32_t low = 0;
    uint32_t high = map->count;
    while (low < high) { /* the first range that begins behind the address */
        uint32_t middle = low + (high - low) / 2;
        if (map->ranges[middle].start <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || address >= map->ranges[low - 1].end) {
        return NULL;
    }
    return &map->ranges[low - 1];
}

/* A return address is looked up by the call before it: the next instruction may belong to another row or function. */
static uint64_t lookup_address(uint64_t pc, bool exact)
{
    return exact ? pc : pc - 1;
}

/* ---- what is known about a pc ---- */

/* Find out what the cache does not know. Returns the slot's content; *pending_out: the rows are not there yet. */
SBX_NOINLINE static struct sbx_walk_cache_slot
look_up(const struct sbx_code_map *map, struct sbx_callstack_table *table, uint64_t pc, bool exact, bool *pending_out)
{
    struct sbx_walk_cache_slot found = {.pc = pc | (exact ? EXACT_KEY : 0), .rule = SBX_RULE_NO_MODULE};
    const struct sbx_code_range *range = sbx_code_map_find(map, lookup_address(pc, exact));
    *pending_out = false;
    if (range == NULL) {
        found.frame_id = sbx_frame_intern(table, sbx_frame_word(SBX_MODULE_NONE, 0, 0));
        return found;
    }
    found.rule = SBX_RULE_NONE;
    if (range->rows != NULL) {
        found.rule = sbx_unwind_rows_find(range->rows, lookup_address(pc, exact) - range->bias);
    } else if (range->flags & SBX_CODE_ROWS_PENDING) {
        *pending_out = true;
    }
    found.frame_id = sbx_frame_intern(table, sbx_frame_word(range->module, pc - range->bias, exact));
    if (found.frame_id != 0 && (range->flags & SBX_CODE_SKIP)) {
        found.frame_id |= SKIP_BIT;
    }
    return found;
}

static void clear_cache(struct sbx_walk_cache *cache, uint32_t generation)
{
    for (uint32_t i = 0; i < SBX_WALK_CACHE_SLOTS; i++) {
        sbx_store_relaxed(&cache->slots[i].pc, 0); /* own thread only; atomic so that it does not become a memset */
    }
    cache->generation = generation;
}

/* Put a slot first in its set; the one that was first becomes second, and the second is forgotten. */
static void remember(struct sbx_walk_cache_slot *set, const struct sbx_walk_cache_slot *slot)
{
    set[1] = set[0];
    set[0] = *slot;
}

/* ---- steps: each moves `frame` to its caller, or says why not; *slot_out is where the new pc was read ---- */

/* A frame that pushed fp first and made it point there. Plausible only when the pair lies further out than sp. */
static bool step_by_frame_pointer(const struct sbx_stack_window *window, struct frame *frame, uint64_t *slot_out)
{
    uint64_t fp, pc;
    if (!frame->fp_known || frame->fp < frame->sp || frame->fp > UINT64_MAX - 16 ||
        !read_word(window, frame->fp + 8, &pc) || !read_word(window, frame->fp, &fp)) {
        return false;
    }
    *slot_out = frame->fp + 8;
    frame->sp = frame->fp + 16;
    frame->fp = fp;
    frame->pc = pc;
    frame->exact = false;
    frame->context = NULL;
    return true;
}

/* The kernel's signal frame: the interrupted registers lie at sp. The stack may be another one from here on. */
static uint32_t step_over_signal(const struct sbx_stack_window *window, struct frame *frame, uint64_t *slot_out)
{
    uint64_t context = frame->sp + SBX_CONTEXT_AT;
    uint64_t word;
    if (context < frame->sp || !read_word(window, context, &word) ||
        !read_word(window, context + 8 * (SBX_CONTEXT_WORDS - 1), &word)) {
        return SBX_WALK_BAD_MEMORY;
    }
    const stack_word *words = (const stack_word *)(uintptr_t)(context + (uint64_t)window->delta);
    *slot_out = context + 8 * SBX_CONTEXT_PC;
    frame->pc = read_context(words, SBX_CONTEXT_PC);
    frame->sp = read_context(words, SBX_CONTEXT_SP);
    frame->fp = read_context(words, SBX_CONTEXT_FP);
    frame->fp_known = true;
    frame->exact = true;
    frame->context = words;
    frame->stranded = frame->sp < window->lo || frame->sp >= window->hi;
    return STEPPED;
}

/* The CFA of a rule of kind 1 to 6. STEPPED, or why there is none. */
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
        return frame->fp_known ? STEPPED : (uint32_t)SBX_WALK_UNSUPPORTED;
    }
    switch (kind) {
    case SBX_RULE_AT_FP:
        if (!frame->fp_known) {
            return SBX_WALK_UNSUPPORTED;
        }
        return read_word(window, frame->fp + (uint64_t)sbx_rule_offset(rule), cfa_out) ? STEPPED
                                                                                       : (uint32_t)SBX_WALK_BAD_MEMORY;
    case SBX_RULE_AT_SP:
        if (!read_word(window, frame->sp + (uint64_t)sbx_rule_slot_offset(rule), cfa_out)) {
            return SBX_WALK_BAD_MEMORY;
        }
        *cfa_out += sbx_rule_slot_addend(rule);
        return STEPPED;
    case SBX_RULE_PLT:
        *cfa_out = frame->sp + 8 + ((frame->pc & 15) >= sbx_rule_plt_limit(rule) ? 8 : 0);
        return STEPPED;
    case SBX_RULE_FROM_REGISTER:
        if (frame->context == NULL) {
            return SBX_WALK_UNSUPPORTED;
        }
        *cfa_out = read_context(frame->context, sbx_context_word(sbx_rule_register(rule))) +
                   (uint64_t)sbx_rule_register_offset(rule);
        return STEPPED;
    default:
        return SBX_WALK_UNSUPPORTED;
    }
}

/* The caller's frame pointer. A slot that cannot be read loses it, no more: the caller may not need it. */
static inline void restore_frame_pointer(const struct sbx_stack_window *window, struct frame *frame, uint32_t rule,
                                         uint64_t cfa)
{
    uint32_t field = sbx_rule_fp(rule);
    if (field == SBX_RULE_FP_SAME) {
        return;
    }
    if (SBX_LIKELY(field <= SBX_RULE_FP_SLOT_MAX)) {
        frame->fp_known = read_word(window, cfa - 8 * (uint64_t)field, &frame->fp);
    } else if (field == SBX_RULE_FP_AT_FP) {
        frame->fp_known = frame->fp_known && read_word(window, frame->fp, &frame->fp);
    } else {
        frame->fp_known = false;
    }
}

static inline uint32_t step_by_rule(const struct sbx_stack_window *window, struct frame *frame, uint32_t rule,
                                    uint64_t *slot_out)
{
    uint64_t cfa, pc;
    uint32_t result = find_cfa(window, frame, rule, &cfa);
    if (SBX_UNLIKELY(result != STEPPED)) {
        return result;
    }
    if (SBX_UNLIKELY(cfa <= frame->sp)) {
        return SBX_WALK_NO_PROGRESS;
    }
    if (SBX_UNLIKELY(!read_word(window, cfa - 8, &pc))) {
        return SBX_WALK_BAD_MEMORY;
    }
    restore_frame_pointer(window, frame, rule, cfa);
    *slot_out = cfa - 8;
    frame->pc = pc;
    frame->sp = cfa;
    frame->exact = false;
    frame->context = NULL;
    return STEPPED;
}

/* Rules that are not a CFA. */
SBX_NOINLINE static uint32_t step_by_special(const struct sbx_stack_window *window, struct frame *frame, uint32_t rule,
                                             uint64_t *slot_out)
{
    switch (rule) {
    case SBX_RULE_END:
        return SBX_WALK_COMPLETE;
    case SBX_RULE_SIGNAL:
        return step_over_signal(window, frame, slot_out);
    case SBX_RULE_NONE:
        return step_by_frame_pointer(window, frame, slot_out) ? STEPPED : (uint32_t)SBX_WALK_NO_ROW;
    case SBX_RULE_NO_MODULE:
        return step_by_frame_pointer(window, frame, slot_out) ? STEPPED : (uint32_t)SBX_WALK_NO_MODULE;
    default:
        return SBX_WALK_UNSUPPORTED;
    }
}

/* ---- the walk ---- */

void sbx_walk_stack(const struct sbx_code_map *map, struct sbx_walk_cache *cache, struct sbx_callstack_table *table,
                    const struct sbx_stack_window *window, const struct sbx_walk_registers *start,
                    struct sbx_walk *walk_out)
{
    struct frame frame = {
        .pc = start->pc,
        .sp = start->sp,
        .fp = start->fp,
        .context = (const stack_word *)start->context,
        .exact = start->pc_is_exact,
        .fp_known = start->fp_known,
    };
    uint32_t count = 0;
    uint32_t unknown_begin = UINT32_MAX; /* first of the frames outside every module that the walk is in; none */
    bool leading = true;                 /* only frames of our own library so far */
    uint32_t end;

    if (SBX_UNLIKELY(cache->generation != map->generation)) {
        clear_cache(cache, map->generation);
    }
    for (;;) {
        struct sbx_walk_cache_slot *set = &cache->slots[(frame.pc % CACHE_SETS) * 2];
        uint64_t key = frame.pc | (frame.exact ? EXACT_KEY : 0);
        struct sbx_walk_cache_slot found;
        bool pending = false;
        bool cacheable = (frame.pc - 1) >> USER_ADDRESS_BITS == 0; /* neither 0 nor beyond user space */
        if (SBX_LIKELY(cacheable && set[0].pc == key)) {
            found = set[0];
        } else if (cacheable && set[1].pc == key) {
            found = set[1];
        } else {
            found = look_up(map, table, frame.pc, frame.exact, &pending);
            if (cacheable && !pending && found.frame_id != 0) {
                remember(set, &found);
            }
        }

        if (!(leading && (found.frame_id & SKIP_BIT))) {
            if (SBX_UNLIKELY(count == SBX_WALK_MAX)) {
                end = SBX_WALK_TOO_DEEP;
                break;
            }
            leading = false;
            walk_out->frame_ids[count] = found.frame_id & ~SKIP_BIT;
            walk_out->pcs[count] = frame.pc;
            walk_out->slots[count] = 0;
            count++;
            if (SBX_UNLIKELY(found.frame_id == 0)) { /* the table is full: the stack is lost, and counted there */
                walk_out->count = count;
                walk_out->end = SBX_WALK_TOO_DEEP;
                return;
            }
        }
        if (SBX_UNLIKELY(pending || frame.stranded)) {
            end = pending ? SBX_WALK_ROWS_PENDING : SBX_WALK_BAD_MEMORY;
            break;
        }

        uint64_t slot = 0;
        if (SBX_LIKELY(sbx_rule_kind(found.rule) != SBX_RULE_SPECIAL)) {
            unknown_begin = UINT32_MAX;
            end = step_by_rule(window, &frame, found.rule, &slot);
        } else {
            if (found.rule != SBX_RULE_NO_MODULE) {
                unknown_begin = UINT32_MAX;
            } else if (unknown_begin == UINT32_MAX) {
                unknown_begin = count - 1;
            }
            end = step_by_special(window, &frame, found.rule, &slot);
        }
        if (SBX_UNLIKELY(end != STEPPED)) {
            break;
        }
        if (count > 0) {
            walk_out->slots[count - 1] = slot;
        }
        if (SBX_UNLIKELY(frame.pc == 0 && !frame.exact)) {
            end = unknown_begin == UINT32_MAX ? SBX_WALK_COMPLETE : SBX_WALK_NO_MODULE;
            break;
        }
    }

    if (SBX_UNLIKELY(unknown_begin != UINT32_MAX && end == SBX_WALK_NO_MODULE)) {
        count = unknown_begin + 1; /* links from unknown code that led to no known code are no evidence */
        walk_out->slots[unknown_begin] = 0;
    }
    if (end != SBX_WALK_COMPLETE) {
        walk_out->frame_ids[count] = sbx_frame_intern(table, sbx_frame_word(SBX_MODULE_END, end, 0));
        walk_out->pcs[count] = 0;
        walk_out->slots[count] = 0;
        count++;
    } else if (count > 0) {
        walk_out->slots[count - 1] = 0;
    }
    walk_out->count = count;
    walk_out->end = end;
}
