/* SPDX-License-Identifier: Apache-2.0 */
/* differences.c - names differences, and asks libdw about them. */
#include "differences.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool is_in_kernel(const struct user_regs_struct *registers)
{
    int64_t result = (int64_t)registers->rax;
    /* -ERESTARTSYS to -ERESTART_RESTARTBLOCK: the call was waiting and is restarted. -ENOSYS: the thread is at its
     * entry. */
    return (int64_t)registers->orig_rax >= 0 && ((result <= -512 && result >= -516) || result == -ENOSYS);
}

static uint32_t rule_of(const struct check *check, uint64_t pc, bool exact)
{
    uint64_t at = exact ? pc : pc - 1;
    const struct target_module *module = target_memory_module(&check->memory, at);
    if (module == NULL) {
        return SBX_RULE_NO_MODULE;
    }
    return module->image->has_rows ? sbx_unwind_rows_find(&module->image->rows, at - module->bias) : SBX_RULE_NONE;
}

static void describe_address(struct check *check, uint64_t pc, bool exact, char *text, size_t bytes)
{
    uint64_t at = exact ? pc : pc - 1;
    const struct target_module *module = target_memory_module(&check->memory, at);
    if (module == NULL) {
        snprintf(text, bytes, "%#" PRIx64, pc);
        return;
    }
    snprintf(text, bytes, "%.64s+%#" PRIx64 " (%.128s)", base_name(module->image->path), pc - module->bias,
             check->libdw == NULL ? "?" : libdw_function_at(check->libdw, at));
}

/* Our walk may read only one stack. So it stops where a signal handler on its own stack had interrupted another stack.
 * Walk that stack too, from the registers that the kernel saved: does it continue as libunwind did? */
static bool rest_is_equal(struct check *check)
{
    const struct walked_stack *ours = check->our_stack, *theirs = check->their_stack;
    struct walked_stack *rest = check->rest_stack;
    uint32_t done = ours->count;
    uint64_t signal_frame = ours->sp[done - 2];
    for (int stacks = 0; stacks < 4; stacks++) {
        uint64_t words[SBX_CONTEXT_WORDS];
        for (uint32_t i = 0; i < SBX_CONTEXT_WORDS; i++) {
            const struct target_stack *stack = stacks == 0 ? &check->stack : &check->other_stack;
            if (!target_memory_read(&check->memory, stack, signal_frame + SBX_CONTEXT_AT + 8 * i, &words[i])) {
                return false;
            }
        }
        check->other_stack.registers = (struct user_regs_struct){.r8 = words[0],
                                                                 .r9 = words[1],
                                                                 .r10 = words[2],
                                                                 .r11 = words[3],
                                                                 .r12 = words[4],
                                                                 .r13 = words[5],
                                                                 .r14 = words[6],
                                                                 .r15 = words[7],
                                                                 .rdi = words[8],
                                                                 .rsi = words[9],
                                                                 .rbp = words[10],
                                                                 .rbx = words[11],
                                                                 .rdx = words[12],
                                                                 .rax = words[13],
                                                                 .rcx = words[14],
                                                                 .rsp = words[15],
                                                                 .rip = words[16]};
        if (!target_memory_copy_stack(&check->memory, &check->other_stack)) {
            return false;
        }
        our_walk(&check->ours, &check->memory, &check->other_stack, true, rest);
        for (uint32_t i = 0; i < rest->count; i++) {
            if (done - 1 + i >= theirs->count || rest->pc[i] != theirs->pc[done - 1 + i] ||
                rest->sp[i] != theirs->sp[done - 1 + i]) {
                return false;
            }
        }
        done += rest->count - 1;
        if (rest->end != SBX_WALK_BAD_MEMORY || rest->count < 2 || !rest->exact[rest->count - 1]) {
            return done == theirs->count && (rest->end == SBX_WALK_COMPLETE) == (theirs->end == 0);
        }
        signal_frame = rest->sp[rest->count - 2];
    }
    return false;
}

/* Is the instruction before this address, or the one before a `lea -8(%r10), %rsp`, a `pop %rbp` or a `leave`? */
static bool has_popped_fp(const struct check *check, uint64_t pc)
{
    enum {
        POP_RBP = 0x5d,
        LEAVE = 0xc9,
        LEA_BYTES = 4
    };
    const struct target_module *module = target_memory_module(&check->memory, pc);
    const uint8_t *code =
        module == NULL ? NULL : target_image_at(module->image, pc - module->bias - LEA_BYTES - 1, LEA_BYTES + 1);
    if (code == NULL) {
        return false;
    }
    uint8_t last = code[LEA_BYTES], before = code[0];
    return last == POP_RBP || last == LEAVE ||
           (code[1] == 0x49 && code[2] == 0x8d && (before == POP_RBP || before == LEAVE));
}

/* The name of a difference that docs/UNWINDING.md explains, or NULL. `last` is the last frame that both have; the step
 * from it is the one that differs. */
static const char *explain(struct check *check, struct difference difference, uint32_t last, char opinion)
{
    const struct walked_stack *ours = check->our_stack, *theirs = check->their_stack;
    uint32_t rule = rule_of(check, ours->pc[last], ours->exact[last]);
    if (is_in_kernel(&check->stack.registers) && check->stack.registers.orig_rax == SYS_rt_sigreturn) {
        return "in sigreturn, whose row ends before its system call returns";
    }
    uint32_t next = difference.frame;
    uint32_t link = 0; /* the innermost frame that was found by frame pointer alone; 0: none */
    for (uint32_t i = 1; i <= last && link == 0; i++) {
        link = ours->guessed[i] ? i : 0;
    }
    if (link != 0 && (difference.outcome == OUTCOME_OTHER_FRAME || difference.outcome == OUTCOME_OURS_LONGER)) {
        if (opinion == 'o') {
            return "libunwind has lost sp behind a link of a frame pointer";
        }
        return ours->exact[link - 1] ? "no row where a function sets up or takes down its frame pointer" : NULL;
    }
    switch (difference.outcome) {
    case OUTCOME_OURS_SHORTER:
        if (ours->end == SBX_WALK_BAD_MEMORY && last > 0 && ours->exact[last]) {
            return rest_is_equal(check) ? "interrupted on another stack" : NULL;
        }
        if (ours->end == SBX_WALK_UNSUPPORTED && !ours->exact[last] && sbx_rule_kind(rule) == SBX_RULE_FROM_REGISTER) {
            return "CFA in a register of a caller";
        }
        if (ours->end == SBX_WALK_UNSUPPORTED && rule == SBX_RULE_UNSUPPORTED) {
            return "rule that does not fit";
        }
        if ((ours->end == SBX_WALK_NO_ROW || ours->end == SBX_WALK_NO_MODULE) &&
            (rule == SBX_RULE_NONE || rule == SBX_RULE_NO_MODULE) &&
            target_memory_module(&check->memory, theirs->pc[next]) == NULL) {
            return "libunwind takes a link for a frame that is none";
        }
        return NULL;
    case OUTCOME_OTHER_END:
        if ((ours->end == SBX_WALK_NO_ROW || ours->end == SBX_WALK_NO_MODULE) && theirs->end == 0 &&
            (rule == SBX_RULE_NONE || rule == SBX_RULE_NO_MODULE)) {
            return "no row: libunwind calls it the end";
        }
        return NULL;
    case OUTCOME_OTHER_FRAME:
        if (sbx_rule_fp(rule) == SBX_RULE_FP_AT_FP && sbx_rule_kind(rule) != SBX_RULE_SPECIAL && ours->exact[last] &&
            ours->pc[next] == theirs->pc[next] && ours->sp[next] == theirs->sp[next] &&
            ours->fp[next] == ours->fp[last] && has_popped_fp(check, ours->pc[last])) {
            return "gcc's rows forget that an aligned frame has popped fp";
        }
        return NULL;
    default:
        return NULL;
    }
}

static struct class *class_of(struct check *check, const char *name, const char *module, char opinion)
{
    for (uint32_t i = 0; i < check->class_count; i++) {
        struct class *class = &check->classes[i];
        if (strcmp(class->name, name) == 0 && class->opinion == opinion && strcmp(class->module, module) == 0) {
            return class;
        }
    }
    if (check->class_count == CLASSES_MAX) {
        return &check->classes[CLASSES_MAX - 1];
    }
    struct class *class = &check->classes[check->class_count++];
    class->name = name;
    class->opinion = opinion;
    snprintf(class->module, sizeof class->module, "%.63s", module);
    return class;
}

static void print_walk(struct check *check, const char *who, const struct walked_stack *walked, uint32_t around)
{
    printf("    %s: %u frames, end %d\n", who, walked->count + walked->gap_frames, walked->end);
    for (uint32_t i = around < 3 ? 0 : around - 3; i < walked->count && i < around + 3; i++) {
        char text[512];
        describe_address(check, walked->pc[i], i == 0, text, sizeof text);
        printf("      %c%-3u %-60s sp %#" PRIx64 " fp %#" PRIx64 "\n", i == around ? '>' : ' ', i, text, walked->sp[i],
               walked->fp[i]);
    }
}

/* Let libdw walk the stack too. False: its process has ended. */
static bool ask_libdw(struct check *check)
{
    check->third_stack->count = 0;
    if (check->libdw == NULL || check->libdw_generation != check->memory.map->generation) {
        libdw_walker_destroy(check->libdw);
        check->libdw = libdw_walker_create(check->memory.pid);
        check->libdw_generation = check->memory.map->generation;
    }
    if (check->libdw != NULL) {
        libdw_walk(check->libdw, &check->memory, &check->stack, check->third_stack);
    }
    return check->libdw != NULL;
}

static void count_class(struct check *check, const char *name, uint32_t last, uint32_t different, char opinion)
{
    const struct walked_stack *ours = check->our_stack;
    const struct target_module *module = target_memory_module(&check->memory, ours->pc[last] - !ours->exact[last]);
    struct class *class = class_of(check, name, module == NULL ? "no module" : base_name(module->image->path), opinion);
    if (class->count++ == 0) {
        describe_address(check, ours->pc[last], ours->exact[last], class->example, sizeof class->example);
    }
    if (class->count <= check->examples_wanted) {
        printf("  %s; rule %#x\n", name, rule_of(check, ours->pc[last], ours->exact[last]));
        print_walk(check, "ours", ours, different);
        print_walk(check, "libunwind", check->their_stack, different);
        print_walk(check, "libdw", check->third_stack, different);
    }
}

void judge_agreement(struct check *check)
{
    const struct walked_stack *ours = check->our_stack, *third = check->third_stack;
    if (ours->gap_frames != 0 || !ask_libdw(check)) {
        return;
    }
    check->asked++;
    uint32_t same = 0;
    while (same < ours->count && same < third->count && ours->pc[same] == third->pc[same]) {
        same++;
    }
    if (same == ours->count && same == third->count) {
        check->agreed++;
    } else {
        count_class(check, "alike, but libdw goes another way", same == 0 ? 0 : same - 1, same, 'n');
    }
}

void judge_difference(struct check *check, struct difference difference)
{
    const struct walked_stack *ours = check->our_stack;
    uint32_t last = difference.frame == 0 ? 0 : difference.frame - 1;
    if (ours->gap_frames != 0 && last >= ours->gap_at) {
        last = last >= ours->gap_at + ours->gap_frames ? last - ours->gap_frames : ours->gap_at;
    }
    char opinion =
        ask_libdw(check) ? third_opinion(ours, check->their_stack, check->third_stack, difference.frame) : '?';
    const char *name = explain(check, difference, last, opinion);
    if (name == NULL) {
        check->unexplained += difference.outcome != OUTCOME_BOTH_STOPPED;
        name = outcome_name(difference.outcome);
    }
    count_class(check, name, last, difference.frame, opinion);
}
