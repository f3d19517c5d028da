/* SPDX-License-Identifier: Apache-2.0 */
/* test_host_calls.c - stacks that are switched, left by a jump, or unmapped while a hooked call is still on them. */
#include "host_case.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    STACK_BYTES = 64 * 1024,
    COROUTINES = 8,
};

struct coroutine {
    ucontext_t context, resumer;
    void *stack;
    FILE *file; /* whose write function yields */
    int turns;
    volatile bool has_ended;
};

static void *map_stack(void *place)
{
    void *stack = mmap(place, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | (place != NULL ? MAP_FIXED : 0), -1, 0);
    host_expect(stack != MAP_FAILED, "a stack is mapped");
    return stack;
}

/* How contexts are switched: by the functions as the program calls them, or without passing a hook, as a runtime with
 * its own assembly does. */
static int (*swap_past_us)(ucontext_t *from, const ucontext_t *to);
static void (*jump_past_us)(sigjmp_buf, int);

static void past_us_if_ordered(void)
{
    if (getenv("HOST_PAST_US") != NULL) {
        swap_past_us = (int (*)(ucontext_t *, const ucontext_t *))dlsym(RTLD_DEFAULT, "swapcontext");
        jump_past_us = (void (*)(sigjmp_buf, int))dlsym(RTLD_DEFAULT, "siglongjmp");
    }
}

static void swap(ucontext_t *from, const ucontext_t *to)
{
    if (swap_past_us != NULL) {
        swap_past_us(from, to);
    } else {
        swapcontext(from, to);
    }
}

static void jump(sigjmp_buf to)
{
    if (jump_past_us != NULL) {
        jump_past_us(to, 1);
    }
    siglongjmp(to, 1);
}

static ssize_t write_by_yielding(void *cookie, const char *bytes, size_t count)
{
    struct coroutine *self = cookie;
    (void)bytes;
    swap(&self->context, &self->resumer);
    return (ssize_t)count;
}

static void run_coroutine(unsigned low, unsigned high)
{
    struct coroutine *self = (struct coroutine *)((uintptr_t)low | (uintptr_t)high << 32);
    for (int i = 0; i < self->turns; i++) {
        char text[100] = "some words";
        fwrite(text, 1, sizeof text, self->file);
        fflush(self->file);
    }
    self->has_ended = true;
    swap(&self->context, &self->resumer);
}

static void begin_coroutine(struct coroutine *coroutine, int turns, void (*body)(unsigned, unsigned))
{
    uintptr_t self = (uintptr_t)coroutine;
    coroutine->file = fopencookie(coroutine, "w", (cookie_io_functions_t){.write = write_by_yielding});
    host_expect(coroutine->file != NULL, "a stream of our own");
    __fsetlocking(coroutine->file, FSETLOCKING_BYCALLER);
    coroutine->turns = turns;
    coroutine->has_ended = false;
    getcontext(&coroutine->context);
    coroutine->context.uc_stack.ss_sp = coroutine->stack;
    coroutine->context.uc_stack.ss_size = STACK_BYTES;
    coroutine->context.uc_link = NULL;
    makecontext(&coroutine->context, (void (*)(void))(uintptr_t)body, 2, (unsigned)self, (unsigned)(self >> 32));
}

static void resume(struct coroutine *coroutine)
{
    swap(&coroutine->resumer, &coroutine->context);
}

static void call_something(void)
{
    usleep(10);
    host_loop(1, NULL);
}

/* If the recorder took the calls that were left for calls in progress, it would not sample this thread any more. */
static void expect_that_we_are_sampled(void)
{
    uint64_t before = host_counts().captures_async;
    for (int i = 0; i < 400 && host_counts().captures_async < before + 3; i++) {
        usleep(10);
        host_compute_ms(30);
    }
    host_expect(host_counts().captures_async >= before + 3, "the thread is sampled while it computes");
    host_expect_snapshot();
}

/* ---- HOST-7: coroutines inside hooked calls ---- */

static struct coroutine coroutines[COROUTINES];

/* A thread's stack is mapped later than the coroutines' stacks and is at a lower address. The coroutines' calls
 * therefore look as if they contained the thread's own calls. */
static void run_on_a_lower_stack(void *(*body)(void *))
{
    pthread_t thread;
    past_us_if_ordered();
    for (int i = 0; i < COROUTINES; i++) {
        coroutines[i].stack = map_stack(NULL);
    }
    host_expect(pthread_create(&thread, NULL, body, NULL) == 0, "a thread begins");
    pthread_join(thread, NULL);
}

static void *resume_in_turn(void *unused)
{
    (void)unused;
    for (int i = 0; i < COROUTINES; i++) {
        begin_coroutine(&coroutines[i], 50 + i, run_coroutine);
    }
    for (int left = COROUTINES; left > 0;) {
        for (int i = 0; i < COROUTINES; i++) {
            if (!coroutines[i].has_ended) {
                resume(&coroutines[i]);
                if (coroutines[i].has_ended) {
                    left--;
                    munmap(coroutines[i].stack, STACK_BYTES); /* while other coroutines are in the middle of a call */
                }
            }
            call_something();
        }
    }
    expect_that_we_are_sampled();
    return NULL;
}

static void yields_in_a_stream(void)
{
    run_on_a_lower_stack(resume_in_turn);
}

static void host_07_coroutines_that_yield_inside_a_call_are_borne(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "yields_in_a_stream"});
    host_tear_down(state);
    setenv("HOST_PAST_US", "1", 1);
    host_run_well(&(struct host_order){.body = "yields_in_a_stream"});
    unsetenv("HOST_PAST_US");
}

static void *destroy_in_turn(void *unused)
{
    (void)unused;
    for (int turn = 0; turn < 30; turn++) {
        for (int i = 0; i < COROUTINES; i++) {
            coroutines[i].stack = map_stack(coroutines[i].stack);
            begin_coroutine(&coroutines[i], 1000, run_coroutine);
            for (int yields = 0; yields <= i; yields++) {
                resume(&coroutines[i]);
            }
            if (turn % 2 == 0) {
                call_something();
            }
        }
        for (int i = 0; i < COROUTINES; i++) {
            mprotect(coroutines[(i + turn) % COROUTINES].stack, STACK_BYTES,
                     PROT_NONE); /* the stream on it is lost as well */
            call_something();
        }
    }
    expect_that_we_are_sampled();
    _exit(0); /* exit() would flush the streams, whose write functions yield */
}

static void destroys_what_is_suspended(void)
{
    run_on_a_lower_stack(destroy_in_turn);
}

static void host_07_a_coroutine_destroyed_inside_a_call_is_forgotten(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "destroys_what_is_suspended"});
    host_tear_down(state);
    setenv("HOST_PAST_US", "1", 1);
    host_run_well(&(struct host_order){.body = "destroys_what_is_suspended"});
    unsetenv("HOST_PAST_US");
}

/* ---- HOST-7: a jump from a coroutine's read() to a stack that lies lower ---- */

static sigjmp_buf back;
static int never_ready[2];

static void on_alarm(int number)
{
    (void)number;
    jump(back);
}

static void read_for_ever(unsigned low, unsigned high)
{
    char byte;
    (void)low;
    (void)high;
    for (;;) {
        host_expect(read(never_ready[0], &byte, 1) < 0, "nobody writes");
    }
}

static void *jump_out_of_coroutines(void *higher)
{
    static struct coroutine coroutine;
    for (volatile int turn = 0; turn < 20; turn++) {
        coroutine.stack = map_stack(higher);
        begin_coroutine(&coroutine, 0, read_for_ever);
        struct itimerval soon = {.it_value = {0, 20000}};
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &soon, NULL);
            resume(&coroutine);
        }
        mprotect(coroutine.stack, STACK_BYTES, PROT_NONE); /* like unmapping, but no other mapping can take the place */
        call_something();
    }
    expect_that_we_are_sampled();
    return NULL;
}

static void jumps_to_a_lower_stack(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    sigset_t alarm_only;
    pthread_t thread;
    pthread_attr_t attributes;
    past_us_if_ordered();
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    host_expect(pipe(never_ready) == 0, "a pipe");
    /* One mapping: the thread's stack below, the coroutine's above. */
    uint8_t *both = mmap(NULL, 512 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    host_expect(both != MAP_FAILED, "memory for stacks");
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, both, 256 * 1024);
    host_expect(pthread_create(&thread, &attributes, jump_out_of_coroutines, both + 400 * 1024) == 0,
                "a thread begins");
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm_only, NULL);
    pthread_join(thread, NULL);
}

static void host_07_a_jump_to_a_lower_stack_leaves_nothing_behind(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "jumps_to_a_lower_stack"});
    host_tear_down(state);
    setenv("HOST_PAST_US", "1", 1);
    host_run_well(&(struct host_order){.body = "jumps_to_a_lower_stack"});
    unsetenv("HOST_PAST_US");
}

/* ---- HOST-7: a call that ends on another thread than it began ---- */

enum {
    MOVERS = 3
};
static struct coroutine moving[COROUTINES];
static pthread_mutex_t of_queue = PTHREAD_MUTEX_INITIALIZER;
static struct coroutine *queue[COROUTINES];
static int queued, alive;

static void *move_coroutines(void *unused)
{
    (void)unused;
    for (;;) {
        struct coroutine *next = NULL;
        pthread_mutex_lock(&of_queue);
        bool is_over = alive == 0;
        if (queued > 0) {
            next = queue[0];
            memmove(queue, queue + 1, sizeof queue - sizeof queue[0]);
            queued--;
        }
        pthread_mutex_unlock(&of_queue);
        if (is_over) {
            return NULL;
        }
        if (next == NULL) {
            usleep(50);
            continue;
        }
        resume(next);
        pthread_mutex_lock(&of_queue);
        if (next->has_ended) {
            alive--;
        } else {
            queue[queued++] = next;
        }
        pthread_mutex_unlock(&of_queue);
    }
}

static void moves_calls_between_threads(void)
{
    pthread_t threads[MOVERS];
    past_us_if_ordered();
    for (int i = 0; i < COROUTINES; i++) {
        moving[i].stack = map_stack(NULL);
        begin_coroutine(&moving[i], 3000, run_coroutine);
        queue[queued++] = &moving[i];
    }
    alive = COROUTINES;
    for (int i = 0; i < MOVERS; i++) {
        pthread_create(&threads[i], NULL, move_coroutines, NULL);
    }
    for (int i = 0; i < MOVERS; i++) {
        pthread_join(threads[i], NULL);
    }
    expect_that_we_are_sampled();
}

static void host_07_a_call_that_ends_on_another_thread_is_nobodys(void **state)
{
    (void)state;
    setenv("HOST_PAST_US", "1", 1);
    host_run_well(&(struct host_order){.body = "moves_calls_between_threads", .interval_us = 100});
    unsetenv("HOST_PAST_US");
    struct sbx_snapshot *snapshot = host_read_snapshot();
    assert_int_equal(snapshot->drops[SBX_DROP_BAD_RECORD], 0);
    assert_true(snapshot->drops[SBX_DROP_CALL_MOVED] > 0); /* they were not recorded, and this was counted */
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-7: a handler that jumps out of our own code ---- */

static volatile sig_atomic_t may_jump, jumps;

static void on_tick(int number)
{
    (void)number;
    if (may_jump) {
        jumps++;
        jump(back);
    }
}

static int count_mappings(void)
{
    int count = 0;
    char line[1024];
    FILE *maps = fopen("/proc/self/maps", "re");
    host_expect(maps != NULL, "mappings can be listed");
    while (fgets(line, sizeof line, maps) != NULL) {
        count++;
    }
    fclose(maps);
    return count;
}

static void load_plugins(int count)
{
    for (int i = 0; i < count; i++) {
        void *module = dlopen(HOST_LATE_MODULE, RTLD_NOW);
        host_expect(module != NULL, "a plugin loads");
        usleep(1200); /* the module thread looks within a millisecond and publishes a map */
        dlclose(module);
    }
}

static void jumps_out_of_hooks(void)
{
    struct sigaction action = {.sa_handler = on_tick};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct timespec now;
    sigset_t others, before_us;
    past_us_if_ordered();
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    load_plugins(40);
    /* The jump leaves hooks; a sample's handler is not left here. */
    sigfillset(&others);
    sigdelset(&others, SIGALRM);
    pthread_sigmask(SIG_SETMASK, &others, &before_us);
    int before = count_mappings();
    for (volatile int round = 0; round < 4; round++) {
        jumps = 0;
        (void)sigsetjmp(back, 1);
        setitimer(ITIMER_REAL, &often, NULL);
        while (jumps < 1500) {
            may_jump = 1;
            for (int i = 0; i < 50; i++) {
                clock_gettime(CLOCK_MONOTONIC,
                              &now); /* the loop calls only async-signal-safe functions: the jump is allowed */
            }
            may_jump = 0;
        }
        may_jump = 0;
        setitimer(ITIMER_REAL, &never, NULL);
        load_plugins(60);
    }
    /* Each load publishes two maps; at most some 250 wait to be released. */
    host_expect(count_mappings() - before < 300, "replaced maps do not pile up");
    pthread_sigmask(SIG_SETMASK, &before_us, NULL);
    expect_that_we_are_sampled();
}

static void host_07_a_handler_that_jumps_out_of_a_hook_leaves_no_memory_behind(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){.body = "jumps_out_of_hooks", .interval_us = 50});
    host_tear_down(state);
    setenv("HOST_PAST_US", "1", 1);
    host_run_well(&(struct host_order){.body = "jumps_out_of_hooks", .interval_us = 50});
    unsetenv("HOST_PAST_US");
}

/* A jump that no hook sees leaves our own code, from a function to whose stack level the thread does not come back. All
 * later calls of the thread are further in than the frame of ours that was left. They found our code "inside" for ever,
 * and the thread was recorded neither by points nor by signal (seen as a thread that computed for twelve seconds with
 * fewer than three samples). */
static uintptr_t our_code, our_code_end;

static uintptr_t program_counter_of(const ucontext_t *interrupted)
{
#if defined(__x86_64__)
    return (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)interrupted->uc_mcontext.pc;
#endif
}

static int find_our_code(struct dl_phdr_info *module, size_t bytes, void *unused)
{
    (void)bytes;
    (void)unused;
    for (int i = 0; strstr(module->dlpi_name, "libstallbox") != NULL && i < module->dlpi_phnum; i++) {
        if (module->dlpi_phdr[i].p_type == PT_LOAD && (module->dlpi_phdr[i].p_flags & PF_X) != 0) {
            our_code = module->dlpi_addr + module->dlpi_phdr[i].p_vaddr;
            our_code_end = our_code + module->dlpi_phdr[i].p_memsz;
        }
    }
    return our_code != 0;
}

static void on_tick_in_our_code(int number, siginfo_t *info, void *context)
{
    uintptr_t pc = program_counter_of(context);
    (void)number;
    (void)info;
    if (may_jump && pc >= our_code && pc < our_code_end) {
        may_jump = 0;
        jump(back);
    }
}

__attribute__((noinline)) static void go_on_further_in(void)
{
    volatile char frame[1024];
    uint64_t before = host_counts().captures_async;
    for (size_t i = 0; i < sizeof frame; i++) {
        frame[i] = 0; /* overwrites what was left; LIMITS.md says what happens without this */
    }
    for (int i = 0; i < 400 && host_counts().captures_async == before; i++) {
        usleep(10);
        host_compute_ms(30);
    }
    host_expect(frame[0] == 0 && host_counts().captures_async != before, "the thread is sampled while it computes");
}

static void jumps_out_and_goes_on_further_in(void)
{
    struct sigaction action = {.sa_sigaction = on_tick_in_our_code, .sa_flags = SA_SIGINFO};
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct timespec now;
    sigset_t others, before_us;
    past_us_if_ordered();
    dl_iterate_phdr(find_our_code, NULL);
    host_expect(our_code != 0, "the recorder is found");
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    for (volatile int round = 0; round < 30; round++) {
        sigfillset(&others);
        sigdelset(&others, SIGALRM);
        pthread_sigmask(SIG_SETMASK, &others, &before_us);
        setitimer(ITIMER_REAL, &often, NULL);
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            for (;;) {
                clock_gettime(CLOCK_MONOTONIC, &now);
            }
        }
        setitimer(ITIMER_REAL, &never, NULL);
        pthread_sigmask(SIG_SETMASK, &before_us, NULL);
        go_on_further_in();
    }
    host_expect_snapshot();
}

/* The same with a jump out of a blocking call: the thread was shown in that call for ever, and was never asked for a
 * sample. */
static void on_tick_in_a_call(int number)
{
    (void)number;
    jump(back);
}

static void jumps_out_of_a_call_and_goes_on_further_in(void)
{
    struct sigaction action = {.sa_handler = on_tick_in_a_call};
    struct itimerval once = {{0, 0}, {0, 20000}};
    int pipe_fds[2];
    char byte;
    past_us_if_ordered();
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    host_expect(pipe(pipe_fds) == 0, "a pipe is made");
    for (volatile int round = 0; round < 3; round++) {
        if (sigsetjmp(back, 1) == 0) {
            setitimer(ITIMER_REAL, &once, NULL);
            for (;;) {
                (void)!read(pipe_fds[0], &byte, 1);
            }
        }
        go_on_further_in();
    }
    host_expect_snapshot();
}

static void host_07_a_jump_out_of_a_call_is_noticed_by_calls_further_in(void **state)
{
    (void)state;
    setenv("HOST_PAST_US", "1", 1);
    host_run_well(&(struct host_order){.body = "jumps_out_of_a_call_and_goes_on_further_in"});
    unsetenv("HOST_PAST_US");
}

static void host_07_a_jump_out_of_our_code_is_noticed_by_calls_further_in(void **state)
{
    (void)state;
    setenv("HOST_PAST_US", "1", 1);
    /* On a busy machine the clock's points would be shed, and our code would never be interrupted. */
    host_run_well(
        &(struct host_order){.body = "jumps_out_and_goes_on_further_in", .interval_us = 50, .has_no_budget = true});
    unsetenv("HOST_PAST_US");
}

/* ---- HOST-5: more threads than there are seats ---- */

enum {
    SLEEPERS = 700,
    WORKERS = 700,
};
static _Atomic int served, sleeping;
static int never_written[2];

static void *sleep_for_long(void *unused)
{
    char byte;
    (void)unused;
    free(malloc(100));
    sleeping++;
    (void)!read(never_written[0], &byte, 1);
    return NULL;
}

static void *work_now_and_then(void *unused)
{
    (void)unused;
    while (host_goes_on) {
        for (int i = 0; i < 200; i++) {
            void *volatile memory = malloc(100);
            free(memory);
        }
        usleep(50000);
    }
    served++;
    return NULL;
}

static void has_more_threads_than_seats(void)
{
    static pthread_t threads[SLEEPERS + WORKERS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    host_expect(pipe(never_written) == 0, "a pipe");
    for (int i = 0; i < SLEEPERS + WORKERS; i++) {
        host_expect(pthread_create(&threads[i], &small, i < SLEEPERS ? sleep_for_long : work_now_and_then, NULL) == 0,
                    "a thread begins");
    }
    host_pause_ms(1000);
    close(never_written[1]); /* the sleepers end, and their seats become free */
    host_pause_ms(4000);
    host_expect_snapshot();
    host_goes_on = false;
    for (int i = 0; i < SLEEPERS + WORKERS; i++) {
        pthread_join(threads[i], NULL);
    }
    host_expect(served == WORKERS && sleeping == SLEEPERS, "each did its work");
}

static void host_05_more_threads_than_seats_are_recorded_as_seats_become_free(void **state)
{
    static bool is_seen[1 << 22]; /* by tid: PID_MAX_LIMIT */
    int count = 0;
    (void)state;
    host_run_well(&(struct host_order){.body = "has_more_threads_than_seats"});
    struct sbx_snapshot *snapshot = host_read_snapshot();
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        uint32_t tid = snapshot->threads[record->thread].entry.tid;
        bool is_own = record->kind == SBX_RECORD_SLEEP; /* the sleepers of the other kind are in a read */
        if (is_own && host_passes(snapshot, record->stack, (void *)work_now_and_then) && !is_seen[tid]) {
            is_seen[tid] = true;
            count++;
        }
    }
    assert_in_range(count, WORKERS * 9 / 10, WORKERS);
    sbx_snapshot_destroy(snapshot);
}

/* ---- HOST-20: a thread's first hook below the host's own allocator ---- */

static bool preload_the_allocator(void)
{
    return setenv("LD_PRELOAD", HOST_LOCK_ALLOCATOR, 1) == 0;
}

/* Its first hook is the allocator's mmap, which is called with the allocator's lock held, without passing the hook of
 * malloc. */
static void *allocate_past_us(void *their_malloc)
{
    host_expect(((void *(*)(size_t))their_malloc)((size_t)100 << 20) != NULL, "memory");
    usleep(10);
    return NULL;
}

static void registers_below_its_allocator(void)
{
    pthread_key_t keys[40]; /* so many that ours gets a high number */
    pthread_t thread;
    for (size_t i = 0; i < SBX_COUNT_OF(keys); i++) {
        host_expect(pthread_key_create(&keys[i], NULL) == 0, "a key");
    }
    void *library = dlopen(HOST_LIBRARY, RTLD_NOW);
    host_expect(library != NULL, "the library loads");
    enum stallbox_result (*start)(const struct stallbox_options *) =
        (enum stallbox_result(*)(const struct stallbox_options *))dlsym(library, "stallbox_start");
    enum stallbox_result (*stop)(uint32_t) = (enum stallbox_result(*)(uint32_t))dlsym(library, "stallbox_stop");
    struct stallbox_options options = {.sizeof_options = sizeof options,
                                       .spool_path = getenv("STALLBOX_SPOOL"),
                                       .recording_path = getenv("STALLBOX_RECORDINGS")};
    host_expect(start(&options) == STALLBOX_OK, "it starts");
    host_pause_ms(300); /* the module thread hooks modules that were loaded later */
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, allocate_past_us, dlsym(RTLD_DEFAULT, "malloc"));
        pthread_join(thread, NULL);
    }
    host_expect(stop(10000) == STALLBOX_OK, "and stops");
}

static void host_20_a_thread_registers_below_the_hosts_allocator(void **state)
{
    (void)state;
    host_run_well(&(struct host_order){
        .body = "registers_below_its_allocator", .has_no_agent = true, .before_exec = preload_the_allocator});
}

int main(int argc, char **argv)
{
    static const struct host_body bodies[] = {
        HOST_BODY(yields_in_a_stream),
        HOST_BODY(destroys_what_is_suspended),
        HOST_BODY(jumps_to_a_lower_stack),
        HOST_BODY(moves_calls_between_threads),
        HOST_BODY(jumps_out_of_hooks),
        HOST_BODY(jumps_out_and_goes_on_further_in),
        HOST_BODY(jumps_out_of_a_call_and_goes_on_further_in),
        HOST_BODY(registers_below_its_allocator),
        HOST_BODY(has_more_threads_than_seats),
    };
    static const struct CMUnitTest tests[] = {
        HOST_TEST(host_07_coroutines_that_yield_inside_a_call_are_borne),
        HOST_TEST(host_07_a_coroutine_destroyed_inside_a_call_is_forgotten),
        HOST_TEST(host_07_a_jump_to_a_lower_stack_leaves_nothing_behind),
        HOST_TEST(host_07_a_call_that_ends_on_another_thread_is_nobodys),
        HOST_TEST(host_07_a_handler_that_jumps_out_of_a_hook_leaves_no_memory_behind),
        HOST_TEST(host_07_a_jump_out_of_our_code_is_noticed_by_calls_further_in),
        HOST_TEST(host_07_a_jump_out_of_a_call_is_noticed_by_calls_further_in),
        HOST_TEST(host_20_a_thread_registers_below_the_hosts_allocator),
        HOST_TEST(host_05_more_threads_than_seats_are_recorded_as_seats_become_free),
    };
    return host_main(argc, argv, bodies, SBX_COUNT_OF(bodies), tests, SBX_COUNT_OF(tests));
}
