/* SPDX-License-Identifier: Apache-2.0 */
/* test_special_stacks.c - where walks end, and why, in situations that have rules of their own.
 *
 * test_live_stacks.c compares with libgcc. This test states what is expected: the functions of the test that must be on
 * the stack, the first frame, and the reason of the end. It does not mirror one source file, because rows, rules and
 * walker all take part. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <alloca.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "code_map_fixture.h"
#include "special_stacks.h"

#define FUNCTION __attribute__((noinline, noclone))

extern char _start[]; /* of the C runtime */

static struct code_map_fixture modules;
static struct frame_table_fixture frames;
static struct sbx_walk_cache *cache;
static struct sbx_walk walk;

static int setup(void **state)
{
    (void)state;
    code_map_fixture_init(&modules, 1);
    frame_table_fixture_init(&frames, 1 << 14);
    cache = aligned_alloc(_Alignof(struct sbx_walk_cache), sizeof *cache);
    assert_non_null(cache);
    memset(cache, 0, sizeof *cache);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(cache);
    frame_table_fixture_finish(&frames);
    code_map_fixture_finish(&modules);
    return 0;
}

/* ---- walking and looking ---- */

static void walk_from(const struct sbx_walk_registers *start, uint64_t lo, uint64_t hi)
{
    struct sbx_stack_window window = {lo, hi, 0};
    sbx_walk_stack(modules.map, cache, &frames.table, sbx_callstack_epoch(&frames.table), &window, start, &walk);
}

/* Walk the stack of the caller, up to `hi`. */
static FUNCTION void walk_here(uint64_t hi)
{
    struct sbx_walk_registers start = {.pc_is_exact = true, .fp_known = true};
    __asm__ volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
                     : "=r"(start.pc), "=r"(start.sp), "=r"(start.fp));
    walk_from(&start, start.sp, hi);
}

static void walk_interrupted(const ucontext_t *interrupted, uint64_t hi)
{
    const greg_t *registers = interrupted->uc_mcontext.gregs;
    struct sbx_walk_registers start = {
        .pc = (uint64_t)registers[REG_RIP],
        .sp = (uint64_t)registers[REG_RSP],
        .fp = (uint64_t)registers[REG_RBP],
        .pc_is_exact = true,
        .fp_known = true,
        .context = (const uint64_t *)(const void *)registers,
    };
    walk_from(&start, start.sp - SBX_RED_ZONE_BYTES, hi);
}

/* The number of frames, without the marker of an end that came early. */
static uint32_t frame_count(void)
{
    return walk.count - (walk.end != SBX_WALK_COMPLETE);
}

static const char *module_of(uint64_t pc)
{
    const struct sbx_code_range *range = sbx_code_map_find(modules.map, pc);
    return range == NULL ? "no module" : modules.paths[range->module];
}

/* The index of the frame with that return address; fails the test when there is none. */
static uint32_t find_frame(const void *pc)
{
    for (uint32_t i = 0; i < frame_count(); i++) {
        if (walk.frames[i].pc == (uint64_t)(uintptr_t)pc) {
            return i;
        }
    }
    fail_msg("no frame at %p among %u that end with %u in %s", pc, frame_count(), walk.end,
             module_of(walk.frames[frame_count() - 1].pc));
    return 0;
}

/* Is there a frame of a module whose name contains `name` before frame `before`? */
static bool has_module_before(const char *name, uint32_t before)
{
    for (uint32_t i = 0; i < before; i++) {
        if (strstr(module_of(walk.frames[i].pc), name) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_at_start_of_program(uint64_t pc)
{
    uint64_t start = (uint64_t)(uintptr_t)_start;
    return pc > start && pc <= start + 64;
}

/* The reason that is stored with a stack that ended early. */
static void expect_end(uint32_t end)
{
    assert_int_equal(walk.end, end);
    if (end != SBX_WALK_COMPLETE) {
        assert_true(frame_table_word(&frames, walk.frames[walk.count - 1].frame_id) ==
                    sbx_frame_word(SBX_MODULE_END, end, 0));
    }
}

/* ---- called back ---- */

struct called {
    const void *caller;  /* where the test function continues when its callee returns */
    const char *through; /* a module that must lie between */
    uint32_t times;
};

/* The caller must be on the stack, through `through`, down to the program's first frame. */
static FUNCTION void expect_whole_stack(void *context)
{
    struct called *called = context;
    walk_here(own_stack_top());
    expect_end(SBX_WALK_COMPLETE);
    uint32_t at = find_frame(called->caller);
    assert_true(called->through == NULL || has_module_before(called->through, at));
    assert_true(is_at_start_of_program(walk.frames[frame_count() - 1].pc));
    called->times++;
}

static struct called *called_of_callback;

static int compare(const void *left, const void *right)
{
    if (called_of_callback->times == 0) {
        expect_whole_stack(called_of_callback);
    }
    return *(const int *)left - *(const int *)right;
}

static void visit(const void *node, VISIT which, int depth)
{
    (void)node;
    (void)depth;
    if (which == preorder) { /* the last visit of a node is a tail call: twalk is no longer on the stack */
        expect_whole_stack(called_of_callback);
        called_of_callback->times += 0; /* keeps our call from becoming a tail call */
    }
}

static void once(void)
{
    expect_whole_stack(called_of_callback);
}

static int at_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)info;
    (void)bytes;
    expect_whole_stack(context);
    return 1;
}

static FUNCTION void call_qsort(struct called *called)
{
    int values[] = {3, 1, 2};
    called->caller = __builtin_return_address(0);
    called_of_callback = called;
    qsort(values, 3, sizeof values[0], compare);
}

static FUNCTION void call_bsearch(struct called *called)
{
    int values[] = {1, 2, 3};
    called->caller = __builtin_return_address(0);
    called_of_callback = called;
    void *(*volatile search)(const void *, const void *, size_t, size_t, int (*)(const void *, const void *)) = bsearch;
    assert_non_null(search(&values[2], values, 3, sizeof values[0], compare)); /* the header has an inline version */
}

static FUNCTION void call_twalk(struct called *called)
{
    int values[] = {7, 8};
    void *tree = NULL;
    called->caller = __builtin_return_address(0);
    called_of_callback = called;
    tsearch(&values[0], &tree, compare);
    tsearch(&values[1], &tree, compare); /* a leaf is visited by a tail call */
    twalk(tree, visit);
    tdelete(&values[1], &tree, compare);
    tdelete(&values[0], &tree, compare);
}

static FUNCTION void call_once(struct called *called)
{
    pthread_once_t control = PTHREAD_ONCE_INIT;
    called->caller = __builtin_return_address(0);
    called_of_callback = called;
    pthread_once(&control, once);
    called->times += 0;
}

static FUNCTION void call_dl_iterate_phdr(struct called *called)
{
    called->caller = __builtin_return_address(0);
    dl_iterate_phdr(at_module, called);
    called->times += 0;
}

static void test_callbacks_of_libc_walk_to_the_first_frame(void **state)
{
    (void)state;
    void (*const calls[])(struct called *) = {call_qsort, call_bsearch, call_twalk, call_once, call_dl_iterate_phdr};
    for (size_t i = 0; i < SBX_COUNT_OF(calls); i++) {
        struct called called = {.through = "libc.so"};
        calls[i](&called);
        assert_true(called.times > 0);
    }
}

#if defined(SPECIAL_STACKS_CXX) || defined(SPECIAL_STACKS_GLIB)
static FUNCTION void call_special(void (*situation)(special_leaf *, void *), struct called *called)
{
    called->caller = __builtin_return_address(0);
    situation(expect_whole_stack, called);
    called->times += 0;
}
#endif

#ifdef SPECIAL_STACKS_CXX
static void test_cxx_callbacks_and_exceptions_walk_to_the_first_frame(void **state)
{
    (void)state;
    const struct {
        void (*situation)(special_leaf *, void *);
        const char *through;
    } situations[] = {
        {special_sort, NULL},          {special_landing_pad, NULL},
        {special_catch, NULL},         {special_throw_through_qsort, "libc.so"},
        {special_stream, "libstdc++"},
    };
    for (size_t i = 0; i < SBX_COUNT_OF(situations); i++) {
        struct called called = {.through = situations[i].through};
        call_special(situations[i].situation, &called);
        assert_int_equal(called.times, 1);
    }
}
#endif

#ifdef SPECIAL_STACKS_GLIB
static void test_glib_callbacks_walk_to_the_first_frame(void **state)
{
    (void)state;
    void (*const situations[])(special_leaf *, void *) = {special_main_loop, special_regex, special_gobject_signal};
    const char *const through[] = {"libglib-2.0", "libglib-2.0", "libgobject-2.0"};
    for (size_t i = 0; i < SBX_COUNT_OF(situations); i++) {
        struct called called = {.through = through[i]};
        call_special(situations[i], &called);
        assert_int_equal(called.times, 1);
    }
}
#endif

/* ---- first frames ---- */

static void *walk_in_thread(void *context)
{
    (void)context;
    walk_here(own_stack_top());
    return NULL;
}

static void test_thread_ends_in_clone(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, walk_in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect_end(SBX_WALK_COMPLETE);
    const struct sbx_walk_frame *first = &walk.frames[frame_count() - 1];
    assert_non_null(strstr(module_of(first->pc), "libc.so"));
    assert_true(frame_count() >= 3); /* this test's function, start_thread, clone3 */
    assert_true(first->fp == 0);     /* the ABI's mark of the first frame, which clone sets */
}

/* makecontext() writes the return address of the entry, __start_context. No row covers the byte before it, so the walk
 * ends there with a reason. libunwind stops at the same frame and calls it the end. */
static ucontext_t main_context, coroutine_context;
static const void *return_of_coroutine;
static uint64_t coroutine_stack_end;

static FUNCTION void walk_in_coroutine(void)
{
    walk_here(coroutine_stack_end);
    return_of_coroutine = __builtin_return_address(0);
}

static void coroutine(void)
{
    return_of_coroutine = __builtin_return_address(0);
    const void *entered_from = return_of_coroutine;
    walk_in_coroutine();
    return_of_coroutine = entered_from;
    swapcontext(&coroutine_context, &main_context);
}

static void test_coroutine_ends_at_its_entry_without_a_row(void **state)
{
    (void)state;
    enum {
        BYTES = 64 << 10
    };
    uint8_t *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(stack, MAP_FAILED);
    assert_int_equal(getcontext(&coroutine_context), 0);
    coroutine_context.uc_stack = (stack_t){.ss_sp = stack, .ss_size = BYTES};
    coroutine_context.uc_link = &main_context;
    coroutine_stack_end = (uint64_t)(uintptr_t)stack + BYTES;
    makecontext(&coroutine_context, coroutine, 0);
    assert_int_equal(swapcontext(&main_context, &coroutine_context), 0);
    expect_end(SBX_WALK_NO_ROW);
    assert_int_equal(find_frame(return_of_coroutine), frame_count() - 1);
    assert_true(frame_count() >= 4); /* walk_here, walk_in_coroutine, coroutine, __start_context */
    munmap(stack, BYTES);
}

/* ---- signal handlers ---- */

static uint64_t handler_window_end;
static struct called interrupted;
static uint32_t exact_frames;

static void walk_in_handler(int number)
{
    (void)number;
    walk_here(handler_window_end);
    exact_frames = 0;
    for (uint32_t i = 1; i < frame_count(); i++) {
        exact_frames += (walk.frames[i].flags & SBX_FRAME_IS_EXACT) != 0;
    }
    interrupted.times++;
}

static void nest_in_handler(int number)
{
    (void)number;
    raise(SIGUSR2);
}

static FUNCTION void raise_from_here(int number)
{
    interrupted.caller = __builtin_return_address(0);
    interrupted.times = 0;
    raise(number);
    __asm__ volatile("" ::: "memory"); /* glibc declares that raise() calls no function of this program */
    assert_int_equal(interrupted.times, 1);
}

static void take(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    assert_int_equal(sigaction(number, &action, NULL), 0);
}

static void test_handler_on_the_same_stack_walks_through_its_signal_frame(void **state)
{
    (void)state;
    handler_window_end = own_stack_top();
    take(SIGUSR2, walk_in_handler, 0);
    raise_from_here(SIGUSR2);
    expect_end(SBX_WALK_COMPLETE);
    assert_int_equal(exact_frames, 1);
    find_frame(interrupted.caller);

    take(SIGUSR1, nest_in_handler, 0);
    raise_from_here(SIGUSR1);
    expect_end(SBX_WALK_COMPLETE);
    assert_int_equal(exact_frames, 2);
    find_frame(interrupted.caller);
}

static void test_handler_on_an_alternate_stack_ends_at_what_it_interrupted(void **state)
{
    (void)state;
    enum {
        BYTES = 128 << 10
    };
    uint8_t *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    stack_t alternate = {.ss_sp = pages, .ss_size = BYTES}, before;
    assert_int_equal(sigaltstack(&alternate, &before), 0);
    handler_window_end = (uint64_t)(uintptr_t)pages + BYTES;
    take(SIGUSR2, walk_in_handler, SA_ONSTACK);
    raise_from_here(SIGUSR2);
    expect_end(SBX_WALK_BAD_MEMORY);
    assert_int_equal(exact_frames, 1);
    const struct sbx_walk_frame *last = &walk.frames[frame_count() - 1];
    assert_true((last->flags & SBX_FRAME_IS_EXACT) != 0); /* the interrupted frame itself is recorded */
    assert_non_null(strstr(module_of(last->pc), "libc.so"));
    assert_int_equal(sigaltstack(&before, NULL), 0);
    munmap(pages, BYTES);
}

/* ---- instruction by instruction ---- */

/* Trap every instruction between begin_steps() and end_steps(), and walk from each. */
enum {
    TRAP_FLAG = 0x100
};
static volatile sig_atomic_t stepping;
static uint64_t steps, steps_in_place, steps_cut;
static const void *stepped_caller;
static uint64_t stack_top;
static bool (*is_in_place)(uint64_t pc); /* a place of interest */
static bool (*may_be_cut)(void);         /* a walk that may end early */
static uint64_t first_wrong_pc;

static void walk_at_step(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)info;
    ucontext_t *now = context;
    if (!stepping) {
        now->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    now->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    walk_interrupted(now, stack_top);
    steps++;
    uint64_t pc = (uint64_t)now->uc_mcontext.gregs[REG_RIP];
    steps_in_place += is_in_place(pc);
    bool found = false;
    for (uint32_t i = 0; i < frame_count() && !found; i++) {
        found = walk.frames[i].pc == (uint64_t)(uintptr_t)stepped_caller;
    }
    bool whole = walk.end == SBX_WALK_COMPLETE && is_at_start_of_program(walk.frames[frame_count() - 1].pc);
    if (!whole && may_be_cut != NULL && may_be_cut()) {
        steps_cut++;
    } else if ((!whole || !found) && first_wrong_pc == 0) {
        first_wrong_pc = pc; /* reported at the end, because this is a handler */
    }
}

/* Step through `work`. Every walk must reach the first frame through the caller of this function. */
static FUNCTION void step_through(void (*work)(void), bool (*place)(uint64_t pc), bool (*cut)(void))
{
    struct sigaction action = {.sa_sigaction = walk_at_step, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    stepped_caller = __builtin_return_address(0);
    stack_top = own_stack_top();
    is_in_place = place;
    may_be_cut = cut;
    steps = steps_in_place = steps_cut = first_wrong_pc = 0;
    stepping = 1;
    raise(SIGTRAP);
    work();
    stepping = 0;
    signal(SIGTRAP, SIG_IGN); /* for a trap that is still pending */
    if (first_wrong_pc != 0) {
        fail_msg("at %#lx in %s the walk did not come through, of %lu", (unsigned long)first_wrong_pc,
                 module_of(first_wrong_pc), (unsigned long)steps);
    }
    signal(SIGTRAP, SIG_DFL);
}

static volatile uint64_t sink;

static bool is_in_vdso(uint64_t pc)
{
    return strstr(module_of(pc), "vdso") != NULL;
}

static void read_clocks(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    clock_gettime(CLOCK_REALTIME, &now);
    sink += (uint64_t)now.tv_nsec;
}

static void test_vdso_is_walked_like_any_module(void **state)
{
    (void)state;
    read_clocks(); /* binds the name */
    step_through(read_clocks, is_in_vdso, NULL);
    assert_true(steps_in_place > 20);
}

/* The program's lazy stubs have a rule of their own. */
static bool is_in_plt(uint64_t pc)
{
    const struct sbx_code_range *range = sbx_code_map_find(modules.map, pc);
    return range != NULL && range->rows != NULL && modules.paths[range->module][0] == 0 &&
           sbx_rule_kind(sbx_unwind_rows_find(range->rows, pc - range->bias)) == SBX_RULE_PLT;
}

/* While the loader binds a name, its resolver has its CFA in rbx, which walks do not follow beyond the innermost
 * frame. */
static bool is_in_lazy_resolver(void)
{
    return walk.end == SBX_WALK_UNSUPPORTED && strstr(module_of(walk.frames[frame_count() - 1].pc), "ld-linux") != NULL;
}

static void call_for_the_first_time(void)
{
    sink += (uint64_t)a64l("7"); /* called nowhere else in this program */
}

static void test_lazy_stub_is_walked_and_its_resolver_ends_as_unsupported(void **state)
{
    (void)state;
    step_through(call_for_the_first_time, is_in_plt, is_in_lazy_resolver);
    assert_true(steps_in_place >= 3); /* the jump, the push, the jump to the table's first entry */
    assert_true(steps_cut > 20);
    uint64_t bound_later = steps;
    step_through(call_for_the_first_time, is_in_plt, NULL);
    assert_true(steps_in_place >= 1 && steps < bound_later);
}

/* A frame that aligns its stack: its prologue and epilogue move the CFA through r10. Its caller is found by fp. If the
 * rows forgot that the epilogue popped fp, all frames further out would be lost. */
static FUNCTION void fill_aligned(uint64_t seed)
{
    _Alignas(64) volatile uint64_t values[16];
    volatile uint8_t *bytes = alloca(seed % 64 + 16);
    for (unsigned i = 0; i < 16; i++) {
        values[i] = seed + i;
        bytes[i] = (uint8_t)values[i];
    }
    sink += values[seed % 16] + bytes[seed % 16];
}

static bool is_in_aligned(uint64_t pc)
{
    uint64_t start = (uint64_t)(uintptr_t)fill_aligned;
    return pc >= start && pc < start + 400;
}

static FUNCTION void call_aligned(void)
{
    volatile uint8_t *bytes = alloca(sink % 100 + 100); /* so that its CFA depends on fp */
    bytes[0] = 1;
    fill_aligned(sink + bytes[0]);
    fill_aligned(sink + 7);
    bytes[1] = 1;
}

static void test_every_instruction_of_an_aligned_frame_is_walked(void **state)
{
    (void)state;
    step_through(call_aligned, is_in_aligned, NULL);
    assert_true(steps_in_place > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callbacks_of_libc_walk_to_the_first_frame),
#ifdef SPECIAL_STACKS_CXX
        cmocka_unit_test(test_cxx_callbacks_and_exceptions_walk_to_the_first_frame),
#endif
#ifdef SPECIAL_STACKS_GLIB
        cmocka_unit_test(test_glib_callbacks_walk_to_the_first_frame),
#endif
        cmocka_unit_test(test_thread_ends_in_clone),
        cmocka_unit_test(test_coroutine_ends_at_its_entry_without_a_row),
        cmocka_unit_test(test_handler_on_the_same_stack_walks_through_its_signal_frame),
        cmocka_unit_test(test_handler_on_an_alternate_stack_ends_at_what_it_interrupted),
        cmocka_unit_test(test_vdso_is_walked_like_any_module),
        cmocka_unit_test(test_lazy_stub_is_walked_and_its_resolver_ends_as_unsupported),
        cmocka_unit_test(test_every_instruction_of_an_aligned_frame_is_walked),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
