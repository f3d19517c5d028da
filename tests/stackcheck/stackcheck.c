/* SPDX-License-Identifier: Apache-2.0 */
/* stackcheck.c - random stacks of a real program, walked by us and by libunwind, compared frame by frame.
 *
 * The program is traced: one of its threads at a time is stopped at a random moment, and from there led on by single
 * instructions or to the kernel. Each stop is one stack: registers and a copy of its memory, which both walks then read,
 * so that nothing can change between them and nothing of the program is touched. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "comparison.h"
#include "tracee.h"
#include "walks.h"

enum {
    CLASSES_MAX = 1024,
    PAUSE_MAX_US = 400, /* between two looks, at most */
    BURST_MAX = 64,     /* instructions stepped at one look, at most */
    KERNEL_US = 2000,   /* how long to wait for a system call */
    QUIET_LOOKS = 2000, /* looks in a row without a stack: the program hangs */
    SKIPPED = 77,       /* exit status: nobody may be traced here */
};

/* How a stack was come by. */
enum way { WAY_INTERRUPTED, WAY_STEPPED, WAY_KERNEL, WAY_COUNT };
static const char *const way_names[WAY_COUNT] = {"interrupted", "stepped", "kernel"};

/* Differences of one kind, in one module, with one third opinion. */
struct class {
    const char *name;
    char module[64];
    char opinion; /* of libdw: third_opinion() */
    uint64_t count;
    char example[256];
};

struct check {
    /* what is wanted */
    uint64_t stacks_wanted;
    uint32_t examples_wanted; /* stacks printed whole, a class */
    const char *label;
    FILE *report;
    uint64_t random;

    struct tracee tracee;
    struct target_memory memory;
    struct target_stack stack;
    struct our_walker ours;
    struct libunwind_walker *libunwind;
    struct libdw_walker *libdw; /* of this process and its modules; NULL: to be made when needed */
    struct walked_stack *our_stack, *blind_stack, *their_stack, *third_stack;
    struct target_stack other_stack; /* the one a signal handler interrupted */
    struct walked_stack *rest_stack;

    uint64_t stacks, frames, runs, deepest;
    uint64_t by_way[WAY_COUNT];
    uint64_t outcomes[OUTCOME_COUNT];
    uint64_t ends[16];                                        /* of our walks, by enum sbx_walk_end */
    uint64_t blind_equal, blind_shorter, blind_wrong;         /* without the frame pointer, of all stacks */
    uint64_t blocked, blocked_shorter;                        /* of those in the kernel */
    uint64_t guessed;                                         /* stacks with frames found by frame pointer alone */
    uint64_t unexplained;
    uint64_t no_stack;
    struct class classes[CLASSES_MAX];
    uint32_t class_count;
};

static uint64_t next_random(struct check *check)
{
    check->random ^= check->random << 13; /* xorshift64, Marsaglia 2003 */
    check->random ^= check->random >> 7;
    check->random ^= check->random << 17;
    return check->random;
}

/* ---- naming a difference ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool is_in_kernel(const struct user_regs_struct *registers)
{
    int64_t result = (int64_t)registers->rax;
    /* -ERESTARTSYS to -ERESTART_RESTARTBLOCK: the call was waiting, and is made again. -ENOSYS: at its entry. */
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

/* Our walk stopped where a signal handler on a stack of its own had interrupted another stack, as a walk must that may
 * read one stack only. Walk that one too, from the registers the kernel saved: does it lead on as libunwind went? */
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
        check->other_stack.registers = (struct user_regs_struct){
            .r8 = words[0], .r9 = words[1], .r10 = words[2], .r11 = words[3], .r12 = words[4], .r13 = words[5],
            .r14 = words[6], .r15 = words[7], .rdi = words[8], .rsi = words[9], .rbp = words[10], .rbx = words[11],
            .rdx = words[12], .rax = words[13], .rcx = words[14], .rsp = words[15], .rip = words[16]};
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

/* The name of a difference that docs/UNWINDING.md explains, or NULL. `last` is the last frame both have: its step is the one
 * that differs. */
static const char *explain(struct check *check, struct difference difference, uint32_t last, char opinion)
{
    const struct walked_stack *ours = check->our_stack, *theirs = check->their_stack;
    uint32_t rule = rule_of(check, ours->pc[last], ours->exact[last]);
    if (is_in_kernel(&check->stack.registers) && check->stack.registers.orig_rax == SYS_rt_sigreturn) {
        return "in sigreturn, whose row ends before its system call returns";
    }
    uint32_t next = difference.frame;
    bool has_link = false;
    for (uint32_t i = 0; i <= last; i++) {
        has_link = has_link || ours->guessed[i];
    }
    if (has_link && (difference.outcome == OUTCOME_OTHER_FRAME || difference.outcome == OUTCOME_OURS_LONGER)) {
        return opinion == 'o' ? "libunwind has lost sp behind a link of a frame pointer"
                              : "no row where a function sets up or takes down its frame pointer";
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
        if ((ours->end == SBX_WALK_NO_ROW || ours->end == SBX_WALK_NO_MODULE) && (rule == SBX_RULE_NONE || rule == SBX_RULE_NO_MODULE) &&
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
            ours->pc[next] == theirs->pc[next] && ours->sp[next] == theirs->sp[next] && ours->fp[next] == ours->fp[last]) {
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

/* A stack on which the walks do not agree: ask the third, and count it under its kind. */
static void judge(struct check *check, struct difference difference)
{
    const struct walked_stack *ours = check->our_stack;
    uint32_t last = difference.frame == 0 ? 0 : difference.frame - 1;
    if (ours->gap_frames != 0 && last >= ours->gap_at) {
        last = last >= ours->gap_at + ours->gap_frames ? last - ours->gap_frames : ours->gap_at;
    }
    if (check->libdw == NULL) {
        check->libdw = libdw_walker_create(check->memory.pid);
    }
    char opinion = '?';
    check->third_stack->count = 0;
    if (check->libdw != NULL) {
        libdw_walk(check->libdw, &check->memory, &check->stack, check->third_stack);
        opinion = third_opinion(ours, check->their_stack, check->third_stack, difference.frame);
    }
    const char *name = explain(check, difference, last, opinion);
    if (name == NULL) {
        check->unexplained += difference.outcome != OUTCOME_BOTH_STOPPED;
        name = outcome_name(difference.outcome);
    }
    const struct target_module *module = target_memory_module(&check->memory, ours->pc[last] - !ours->exact[last]);
    struct class *class = class_of(check, name, module == NULL ? "no module" : base_name(module->image->path), opinion);
    if (class->count++ == 0) {
        describe_address(check, ours->pc[last], ours->exact[last], class->example, sizeof class->example);
    }
    if (class->count <= check->examples_wanted) {
        printf("  %s; rule %#x\n", name, rule_of(check, ours->pc[last], ours->exact[last]));
        print_walk(check, "ours", ours, difference.frame);
        print_walk(check, "libunwind", check->their_stack, difference.frame);
        print_walk(check, "libdw", check->third_stack, difference.frame);
    }
}

/* ---- one stack ---- */

/* Take the stopped thread's stack and walk it. False: it has none. */
static bool check_stack(struct check *check, enum way way)
{
    if (!tracee_registers(&check->tracee, &check->stack.registers) ||
        !target_memory_copy_stack(&check->memory, &check->stack)) {
        check->no_stack++;
        return false;
    }
    our_walk(&check->ours, &check->memory, &check->stack, true, check->our_stack);
    libunwind_walk(check->libunwind, &check->memory, &check->stack, check->their_stack);
    struct difference difference = compare_stacks(check->our_stack, check->their_stack);
    uint64_t depth = check->our_stack->count + check->our_stack->gap_frames;
    check->stacks++;
    check->frames += depth;
    check->deepest = depth > check->deepest ? depth : check->deepest;
    check->by_way[way]++;
    check->outcomes[difference.outcome]++;
    check->ends[check->our_stack->end & 15]++;
    for (uint32_t i = 0; i < check->our_stack->count; i++) {
        if (check->our_stack->guessed[i]) {
            check->guessed++;
            break;
        }
    }
    if (difference.outcome != OUTCOME_EQUAL) {
        judge(check, difference);
    }

    /* What is seen of a blocked thread from outside: pc and sp. It may end sooner, and must not end otherwise. */
    our_walk(&check->ours, &check->memory, &check->stack, false, check->blind_stack);
    struct difference blind = compare_stacks(check->blind_stack, check->our_stack);
    bool blocked = is_in_kernel(&check->stack.registers);
    check->blocked += blocked;
    if (blind.outcome != OUTCOME_OTHER_FRAME && blind.outcome != OUTCOME_OURS_SHORTER &&
        blind.outcome != OUTCOME_OURS_LONGER) {
        check->blind_equal++;
    } else if (blind.outcome == OUTCOME_OURS_SHORTER) {
        check->blind_shorter++;
        check->blocked_shorter += blocked;
    } else {
        check->blind_wrong++;
    }
    return true;
}

/* Would the next instruction wait in the kernel? */
static bool is_before_syscall(const struct check *check)
{
    uint8_t code[2] = {0};
    struct iovec local = {code, 2}, remote = {(void *)(uintptr_t)check->stack.registers.rip, 2};
    return process_vm_readv(check->memory.pid, &local, 1, &remote, 1, 0) == 2 && code[0] == 0x0f && code[1] == 0x05;
}

/* Stop a thread and lead it on for a while. */
static void look(struct check *check)
{
    struct tracee *tracee = &check->tracee;
    pid_t tid = tracee->threads[next_random(check) % tracee->thread_count];
    if (!tracee_stop(tracee, tid)) {
        return;
    }
    if (target_memory_refresh(&check->memory)) {
        libdw_walker_destroy(check->libdw);
        check->libdw = NULL;
    }
    if (!check_stack(check, WAY_INTERRUPTED)) {
        tracee_continue(tracee);
        return;
    }
    uint32_t choice = next_random(check) % 8;
    if (choice < 2) { /* in and out of one system call */
        bool reached = true;
        for (int i = 0; i < 2 && reached; i++) {
            if (!tracee_run_to_kernel(tracee, KERNEL_US, &reached)) {
                return;
            }
            if (reached && !check_stack(check, WAY_KERNEL)) {
                break;
            }
        }
    } else if (choice < 7) {
        uint32_t steps = 1 + next_random(check) % BURST_MAX;
        for (uint32_t i = 0; i < steps && !is_in_kernel(&check->stack.registers) && !is_before_syscall(check) &&
                             check->stacks < check->stacks_wanted; i++) {
            if (!tracee_step(tracee)) {
                return;
            }
            if (!check_stack(check, WAY_STEPPED)) {
                break;
            }
        }
    }
    tracee_continue(tracee);
}

/* ---- one program ---- */

static void begin_process(struct check *check)
{
    target_memory_init(&check->memory, check->tracee.pid);
    check->runs++;
}

static void end_process(struct check *check)
{
    libdw_walker_destroy(check->libdw);
    check->libdw = NULL;
    target_memory_finish(&check->memory);
}

/* Look until there are enough stacks, or the program ends. */
static int follow(struct check *check)
{
    uint64_t quiet = 0;
    while (check->stacks < check->stacks_wanted && !check->tracee.ended && check->tracee.thread_count > 0) {
        uint64_t before = check->stacks;
        struct timespec pause = {0, (long)(next_random(check) % PAUSE_MAX_US) * 1000};
        nanosleep(&pause, NULL);
        tracee_serve(&check->tracee);
        if (!check->tracee.ended && check->tracee.thread_count > 0) {
            look(check);
        }
        quiet = check->stacks == before ? quiet + 1 : 0;
        if (quiet == QUIET_LOOKS) {
            fprintf(stderr, "stackcheck: %s: no stack to be had\n", check->label);
            return 1;
        }
    }
    return 0;
}

/* Everything a program must not do because it was looked at. */
static int judge_end(const struct check *check)
{
    if (!check->tracee.ended || (WIFEXITED(check->tracee.status) && WEXITSTATUS(check->tracee.status) == 0)) {
        return 0;
    }
    fprintf(stderr, "stackcheck: %s ended with wait status %#x\n", check->label, (unsigned)check->tracee.status);
    return 1;
}

/* ---- what came out ---- */

static int compare_classes(const void *left, const void *right)
{
    const struct class *a = left, *b = right;
    return a->count > b->count ? -1 : a->count < b->count;
}

static void print_results(struct check *check, double seconds)
{
    printf("%s: %" PRIu64 " stacks, %" PRIu64 " frames (deepest %" PRIu64 "), %" PRIu64 " runs, %.0f s\n", check->label,
           check->stacks, check->frames, check->deepest, check->runs, seconds);
    for (int i = 0; i < WAY_COUNT; i++) {
        printf("  %s %" PRIu64 "%s", way_names[i], check->by_way[i], i + 1 < WAY_COUNT ? "," : "\n");
    }
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        printf("  %s %" PRIu64 "%s", outcome_name((enum outcome)i), check->outcomes[i], i + 1 < OUTCOME_COUNT ? "," : "\n");
    }
    printf("  without frame pointer: %" PRIu64 " equal, %" PRIu64 " shorter, %" PRIu64 " wrong; of %" PRIu64
           " blocked %" PRIu64 " shorter; %" PRIu64 " with links of frame pointers; %" PRIu64 " without a stack\n",
           check->blind_equal, check->blind_shorter, check->blind_wrong, check->blocked, check->blocked_shorter,
           check->guessed, check->no_stack);
    qsort(check->classes, check->class_count, sizeof check->classes[0], compare_classes);
    for (uint32_t i = 0; i < check->class_count; i++) {
        const struct class *class = &check->classes[i];
        printf("  %8" PRIu64 "  %s; %s; libdw %c; e.g. %s\n", class->count, class->name, class->module, class->opinion,
               class->example);
    }
    if (check->report == NULL) {
        return;
    }
    fprintf(check->report, "program\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, check->label, check->stacks, check->frames,
            check->deepest);
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        fprintf(check->report, "\t%" PRIu64, check->outcomes[i]);
    }
    fprintf(check->report, "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
            check->unexplained, check->blind_equal, check->blind_shorter, check->blind_wrong, check->blocked,
            check->blocked_shorter, check->guessed);
    for (uint32_t i = 0; i < check->class_count; i++) {
        const struct class *class = &check->classes[i];
        fprintf(check->report, "class\t%s\t%" PRIu64 "\t%s\t%s\t%c\t%s\n", check->label, class->count, class->name,
                class->module, class->opinion, class->example);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: stackcheck [-n STACKS] [-l LABEL] [-o REPORT] [-s SEED] [-e EXAMPLES] -p PID\n"
                    "       stackcheck [...] -- PROGRAM [ARGUMENT...]    (started again until there are enough)\n");
    return 2;
}

int main(int argc, char **argv)
{
    static struct check check = {.stacks_wanted = 10000, .random = UINT64_C(0x9e3779b97f4a7c15)};
    pid_t pid = 0;
    for (int option; (option = getopt(argc, argv, "+n:l:o:s:e:p:")) != -1;) {
        switch (option) {
        case 'n': check.stacks_wanted = strtoull(optarg, NULL, 10); break;
        case 'l': check.label = optarg; break;
        case 'o': check.report = fopen(optarg, "ae"); break;
        case 's': check.random = strtoull(optarg, NULL, 10) | 1; break;
        case 'e': check.examples_wanted = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'p': pid = (pid_t)strtol(optarg, NULL, 10); break;
        default: return usage();
        }
    }
    if ((pid == 0) == (optind == argc)) {
        return usage();
    }
    if (check.label == NULL) {
        check.label = pid == 0 ? base_name(argv[optind]) : "attached";
    }
    check.stack.copy = malloc(STACK_COPY_MAX);
    check.other_stack.copy = malloc(STACK_COPY_MAX);
    struct walked_stack *walked = calloc(5, sizeof *walked);
    if (check.stack.copy == NULL || check.other_stack.copy == NULL || walked == NULL) {
        fprintf(stderr, "stackcheck: out of memory\n");
        return 2;
    }
    check.our_stack = &walked[0];
    check.blind_stack = &walked[1];
    check.their_stack = &walked[2];
    check.third_stack = &walked[3];
    check.rest_stack = &walked[4];
    our_walker_init(&check.ours);
    check.libunwind = libunwind_walker_create();

    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int failed = 0;
    do {
        int result = pid != 0 ? tracee_seize(&check.tracee, pid) : tracee_spawn(&check.tracee, argv + optind);
        if (result != 0) {
            fprintf(stderr, "stackcheck: %s: %s\n", check.label, strerror(-result));
            return result == -EPERM ? SKIPPED : 2;
        }
        begin_process(&check);
        failed = follow(&check);
        failed = judge_end(&check) != 0 || failed != 0;
        if (!check.tracee.ended) {
            tracee_release(&check.tracee);
        }
        end_process(&check);
    } while (!failed && check.stacks < check.stacks_wanted && pid == 0);
    clock_gettime(CLOCK_MONOTONIC, &end);

    print_results(&check, (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    if (check.stacks < check.stacks_wanted) {
        fprintf(stderr, "stackcheck: %s: only %" PRIu64 " stacks\n", check.label, check.stacks);
        failed = 1;
    }
    if (check.unexplained != 0 || check.blind_wrong != 0) {
        fprintf(stderr, "stackcheck: %s: %" PRIu64 " differences nobody has explained, %" PRIu64
                " walks that differ without frame pointer\n", check.label, check.unexplained, check.blind_wrong);
        failed = 1;
    }
    libunwind_walker_destroy(check.libunwind);
    our_walker_finish(&check.ours);
    free(walked);
    free(check.other_stack.copy);
    free(check.stack.copy);
    if (check.report != NULL && fclose(check.report) != 0) {
        failed = 1;
    }
    return failed;
}
