/* SPDX-License-Identifier: Apache-2.0 */
/* walk_ours.c - sbx_walk_stack() on the copy of another process's stack. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "walks.h"

enum {
    FRAME_SLOTS = 1 << 20,
    NODE_SLOTS = 2,
    FRAMES_AT = 4096
};

void our_walker_init(struct our_walker *walker)
{
    memset(walker, 0, sizeof *walker);
    walker->header_bytes = FRAMES_AT + ((size_t)FRAME_SLOTS + NODE_SLOTS) * sizeof(uint64_t);
    void *pages = mmap(NULL, walker->header_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    walker->cache = aligned_alloc(_Alignof(struct sbx_walk_cache), sizeof *walker->cache);
    walker->walk = malloc(sizeof *walker->walk);
    if (pages == MAP_FAILED || walker->cache == NULL || walker->walk == NULL) {
        fprintf(stderr, "stackcheck: out of memory\n");
        exit(2);
    }
    memset(walker->cache, 0, sizeof *walker->cache);
    walker->header = pages;
    walker->header->epoch = 1;
    walker->header->frames = (struct sbx_section){FRAMES_AT, FRAME_SLOTS, sizeof(uint64_t)};
    walker->header->nodes =
        (struct sbx_section){FRAMES_AT + FRAME_SLOTS * sizeof(uint64_t), NODE_SLOTS, sizeof(uint64_t)};
    sbx_callstack_table_init(&walker->table, walker->header);
}

void our_walker_finish(struct our_walker *walker)
{
    munmap(walker->header, walker->header_bytes);
    free(walker->cache);
    free(walker->walk);
}

/* The table of frames is full: clear it. */
static void forget_frames(struct our_walker *walker)
{
    memset(walker->table.frames, 0, FRAME_SLOTS * sizeof(uint64_t));
    memset(walker->cache, 0, sizeof *walker->cache);
}

/* Is there a row for this frame? If not, its frame pointer was used as a link. */
static bool has_rule(const struct target_memory *memory, const struct sbx_walk_frame *frame)
{
    uint64_t at = frame->pc - ((frame->flags & SBX_FRAME_IS_EXACT) == 0);
    const struct sbx_code_range *range = sbx_code_map_find(memory->map, at);
    return range != NULL && range->rows != NULL && sbx_unwind_rows_find(range->rows, at - range->bias) != SBX_RULE_NONE;
}

void our_walk(struct our_walker *walker, const struct target_memory *memory, const struct target_stack *stack,
              bool registers_known, struct walked_stack *walked_out)
{
    const struct user_regs_struct *r = &stack->registers;
    const uint64_t context[SBX_CONTEXT_WORDS] = {r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rdi,
                                                 r->rsi, r->rbp, r->rbx, r->rdx, r->rax, r->rcx, r->rsp, r->rip};
    struct sbx_walk_registers start = {
        .pc = r->rip,
        .sp = r->rsp,
        .fp = registers_known ? r->rbp : 0,
        .pc_is_exact = true,
        .fp_known = registers_known,
        .context = registers_known ? context : NULL,
    };
    struct sbx_stack_window window = {stack->lo, stack->hi, (int64_t)((uint64_t)(uintptr_t)stack->copy - stack->lo)};
    struct sbx_walk *walk = walker->walk;
    for (int attempt = 0; attempt < 2; attempt++) {
        sbx_walk_stack(memory->map, walker->cache, &walker->table, walker->header->epoch, &window, &start, walk);
        if (walk->end != SBX_WALK_TOO_DEEP || walk->omitted != 0) {
            break;
        }
        forget_frames(walker);
    }
    walked_out->count = 0;
    walked_out->end = (int)walk->end;
    walked_out->gap_at = 0;
    walked_out->gap_frames = 0;
    uint32_t count = walk->end == SBX_WALK_COMPLETE ? walk->count : walk->count - 1; /* without the marker of the end */
    for (uint32_t i = 0; i < count; i++) {
        if (walk->omitted != 0 && i == SBX_WALK_MAX - SBX_WALK_ROOT) {
            walked_out->gap_at = i;
            walked_out->gap_frames = walk->omitted;
            continue;
        }
        const struct sbx_walk_frame *frame = &walk->frames[i];
        uint32_t to = walked_out->count++;
        walked_out->pc[to] = frame->pc;
        walked_out->sp[to] = frame->sp;
        walked_out->fp[to] = frame->fp;
        walked_out->has_fp[to] = (frame->flags & SBX_FRAME_FP_KNOWN) != 0;
        walked_out->exact[to] = (frame->flags & SBX_FRAME_IS_EXACT) != 0;
        walked_out->guessed[to] = frame->slot != 0 && frame->slot == frame->fp_slot + 8 && i > 0 &&
                                  walk->frames[i - 1].fp == frame->fp_slot && !has_rule(memory, &walk->frames[i - 1]);
    }
}
