/* SPDX-License-Identifier: Apache-2.0 */
/* stackcheck.c - random stacks of a real program, walked by our walker and by libunwind, compared frame by frame.
 *
 * The program is traced. One of its threads at a time is stopped at a random moment, and then stepped by single
 * instructions or to the kernel. Each stop is one stack: registers and a copy of its memory. Both walks read the copy,
 * so nothing can change between them, and the program is not modified. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "differences.h"

enum {
    PAUSE_MAX_US = 400, /* between two looks, at most */
    BURST_MAX = 64,     /* instructions stepped at one look, at most */
    KERNEL_US = 2000,   /* how long to wait for a system call */
    QUIET_LOOKS = 2000, /* looks in a row without a stack, after which the program counts as hanging */
    ASK_EVERY = 32,     /* libdw is asked about one in this many of the equal stacks */
    SKIPPED = 77,       /* exit status: tracing is not allowed here */
};

static const char *const way_names[WAY_COUNT] = {"interrupted", "stepped", "kernel"};

static uint64_t next_random(struct check *check)
{
    check->random ^= check->random << 13; /* xorshift64, Marsaglia 2003 */
    check->random ^= check->random >> 7;
    check->random ^= check->random << 17;
    return check->random;
}

/* ---- one stack ---- */

/* Take the stopped thread's stack and walk it. False: it has no stack. */
static bool check_stack(struct check *check, enum way way)
{
    if (!tracee_registers(&check->tracee, &check->stack.registers) ||
        !target_memory_copy_stack(&check->memory, &check->stack)) {
        check->no_stack++;
        return false;
    }
    if (target_memory_module(&check->memory, check->stack.registers.rip) == NULL) {
        target_memory_refresh(
            &check->memory); /* the list is read in pieces, and memory that is mapped meanwhile can hide a line */
    }
    our_walk(&check->ours, &check->memory, &check->stack, true, check->our_stack);
    libunwind_walk(check->libunwind, &check->memory, &check->stack, check->their_stack);
    struct difference difference = compare_stacks(check->our_stack, check->their_stack);
    if (difference.outcome != OUTCOME_EQUAL && !target_memory_is_alive(&check->memory, &check->stack)) {
        check->no_stack++; /* the process ended meanwhile, and libunwind could not read its data */
        return false;
    }
    uint64_t depth = check->our_stack->count + check->our_stack->gap_frames;
    check->stacks++;
    check->frames += depth;
    check->deepest = depth > check->deepest ? depth : check->deepest;
    check->by_way[way]++;
    check->outcomes[difference.outcome]++;
    for (uint32_t i = 0; i < check->our_stack->count; i++) {
        if (check->our_stack->guessed[i]) {
            check->guessed++;
            break;
        }
    }
    if (difference.outcome != OUTCOME_EQUAL) {
        judge_difference(check, difference);
    } else if (check->stacks % ASK_EVERY == 0) {
        judge_agreement(check);
    }

    /* A blocked thread shows only pc and sp to the outside. That walk may end earlier, but must not differ
     * otherwise. */
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

/* Would the next instruction enter the kernel and wait? */
static bool is_before_syscall(const struct check *check)
{
    uint8_t code[2] = {0};
    struct iovec local = {code, 2}, remote = {(void *)(uintptr_t)check->stack.registers.rip, 2};
    return process_vm_readv(check->memory.pid, &local, 1, &remote, 1, 0) == 2 && code[0] == 0x0f && code[1] == 0x05;
}

/* Stop a thread and step it for a while. */
static void look(struct check *check)
{
    struct tracee *tracee = &check->tracee;
    pid_t tid = tracee->threads[next_random(check) % tracee->thread_count];
    if (!tracee_stop(tracee, tid)) {
        return;
    }
    target_memory_refresh(&check->memory);
    if (!check_stack(check, WAY_INTERRUPTED)) {
        tracee_continue(tracee);
        return;
    }
    uint32_t choice = next_random(check) % 8;
    if (choice < 2) { /* into and out of one system call */
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
                             check->stacks < check->stacks_wanted;
             i++) {
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

/* Check that the program did nothing that it would not have done without being traced. */
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
        printf("  %s %" PRIu64 "%s", outcome_name((enum outcome)i), check->outcomes[i],
               i + 1 < OUTCOME_COUNT ? "," : "\n");
    }
    printf("  without frame pointer: %" PRIu64 " equal, %" PRIu64 " shorter, %" PRIu64 " wrong; of %" PRIu64
           " blocked %" PRIu64 " shorter; %" PRIu64 " with links of frame pointers; libdw agrees on %" PRIu64
           " of %" PRIu64 " alike; %" PRIu64 " without a stack\n",
           check->blind_equal, check->blind_shorter, check->blind_wrong, check->blocked, check->blocked_shorter,
           check->guessed, check->agreed, check->asked, check->no_stack);
    qsort(check->classes, check->class_count, sizeof check->classes[0], compare_classes);
    for (uint32_t i = 0; i < check->class_count; i++) {
        const struct class *class = &check->classes[i];
        printf("  %8" PRIu64 "  %s; %s; libdw %c; e.g. %s\n", class->count, class->name, class->module, class->opinion,
               class->example);
    }
    if (check->report == NULL) {
        return;
    }
    fprintf(check->report, "program\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, check->label, check->stacks,
            check->frames, check->deepest);
    for (int i = 0; i < OUTCOME_COUNT; i++) {
        fprintf(check->report, "\t%" PRIu64, check->outcomes[i]);
    }
    fprintf(check->report,
            "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\t%" PRIu64 "\n",
            check->unexplained, check->blind_equal, check->blind_shorter, check->blind_wrong, check->blocked,
            check->blocked_shorter, check->guessed, check->asked, check->agreed);
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
        case 'n':
            check.stacks_wanted = strtoull(optarg, NULL, 10);
            break;
        case 'l':
            check.label = optarg;
            break;
        case 'o':
            check.report = fopen(optarg, "ae");
            break;
        case 's':
            check.random = strtoull(optarg, NULL, 10) | 1;
            break;
        case 'e':
            check.examples_wanted = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'p':
            pid = (pid_t)strtol(optarg, NULL, 10);
            break;
        default:
            return usage();
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
        fprintf(stderr,
                "stackcheck: %s: %" PRIu64 " differences nobody has explained, %" PRIu64
                " walks that differ without frame pointer\n",
                check.label, check.unexplained, check.blind_wrong);
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
