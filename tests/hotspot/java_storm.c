/* SPDX-License-Identifier: Apache-2.0 */
/* java_storm.c - native methods of JavaStorm: a timer for each thread, and our walk in its signal handler, at any
 * instruction.
 *
 * There is no second walk to compare with. The requirements are: the virtual machine survives; each reported method
 * exists; a name that an earlier walk gave to a place in compiled code is that of the method there now; a stack that is
 * complete ends with the thread's first method; and nearly all stacks are complete. */
#include <dlfcn.h>
#include <errno.h>
#include <jni.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "java_name.h"
#include "java_stack.h"
#include "java_thread.h"

enum {
    INTERVAL_NS = 900000, /* of a thread's own CPU time */
    WHOLE_LEAST = 95,     /* percent of the stacks with Java frames */
    NAMED = 40            /* frames of a stack whose names are made and compared with those of earlier walks */
};

static struct sbx_java_vm the_vm;
static struct sbx_java_threads the_threads = {.get_specific = pthread_getspecific};
static struct sbx_call_sites the_sites;
static struct sbx_place_cache the_places;
static atomic_ullong signals, of_java, frames, no_methods, named_before, misnamed, other_roots, ends[SBX_WALK_ENDS];

/* Pages that could be read in this signal. */
static __thread uint64_t pages[256];

/* The agent's method (page_probe.h): a system call with an invalid operation reads its argument first. */
static bool load_word(uint64_t address, uint64_t *word_out)
{
    uint64_t page = address >> 12, *known = &pages[page % 256];
    if (*known == page) {
        *word_out = *(const uint64_t *)(uintptr_t)address;
        return true;
    }
    int saved_errno = errno;
    long result = syscall(SYS_rt_sigprocmask, -1, address, NULL, 8);
    bool is_there = result != 0 && errno == EINVAL;
    errno = saved_errno;
    if (is_there) {
        *known = page;
        *word_out = *(const uint64_t *)(uintptr_t)address;
    }
    return is_there;
}

static const void *find_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

struct taken {
    uint32_t count;
    uint64_t last; /* Method* of the outermost frame up to now */
};

static bool take(void *to, struct sbx_java_call *call)
{
    struct sbx_method method;
    struct taken *taken = to;
    frames++;
    taken->last = call->method;
    if (!sbx_method_read(&method, &the_vm.layout, call->method)) {
        no_methods++;
        return true;
    }
    if (++taken->count > NAMED) {
        return true;
    }
    static __thread struct sbx_java_name name; /* thread-local, because the stack may be short of room */
    sbx_java_name_make(&name, &method, &the_vm.layout);
    uint32_t line = call->bci < 0 ? 0 : sbx_method_line(&method, &the_vm.layout, call->bci);
    if (call->has_name) {
        named_before++;
        misnamed += call->id != name.id || call->line != line;
    }
    call->has_name = true;
    call->id = name.id;
    call->line = line;
    return true;
}

/* A complete stack ends with the method that the thread began with, or with the one that it ends with. */
static bool is_right_root(uint64_t root)
{
    static __thread uint64_t first;
    static __thread struct sbx_java_name name;
    struct sbx_method method;
    if (first == 0) {
        first = root;
    }
    if (root == first) {
        return true;
    }
    static const char last[] = "java.lang.Thread.exit";
    if (!sbx_method_read(&method, &the_vm.layout, root)) {
        return false;
    }
    sbx_java_name_make(&name, &method, &the_vm.layout);
    return name.function_bytes == sizeof last - 1 && memcmp(name.function, last, sizeof last - 1) == 0;
}

static void on_signal(int number, siginfo_t *siginfo, void *context)
{
    (void)number;
    (void)siginfo;
    int saved_errno = errno;
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t thread = sbx_java_thread_self(&the_threads);
    if (thread == 0 && the_threads.key == 0 && sbx_java_threads_learn(&the_threads, &the_vm)) {
        thread = sbx_java_thread_self(&the_threads);
    }
    signals++;
    memset(pages, 0, sizeof pages);
    if (thread != 0) {
        struct sbx_java_begin begin = {.pc = (uint64_t)registers[REG_RIP],
                                       .sp = (uint64_t)registers[REG_RSP],
                                       .fp = (uint64_t)registers[REG_RBP],
                                       .bytecode = (uint64_t)registers[REG_R13],
                                       .method = (uint64_t)registers[REG_RBX]};
        struct taken taken = {.count = 0};
        enum sbx_java_walk_end end = sbx_java_walk(&the_vm, thread, &begin, take, &taken);
        other_roots += end == SBX_WALK_WHOLE && !is_right_root(taken.last);
        of_java += end != SBX_WALK_NO_JAVA;
        ends[end]++;
    }
    errno = saved_errno;
}

/* A timer stays when its thread ends, and a user has at most RLIMIT_SIGPENDING timers together. After some tens of
 * thousands of threads no program of the user got one. */
static __thread timer_t own_timer;
static pthread_key_t own_timer_end;

static void delete_timer(void *timer)
{
    (void)timer_delete(*(timer_t *)timer);
}

JNIEXPORT void JNICALL Java_JavaStorm_interruptMe(JNIEnv *env, jclass class);
JNIEXPORT void JNICALL Java_JavaStorm_interruptMe(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    static __thread bool is_interrupted; /* virtual threads share their carrier threads */
    if (is_interrupted) {
        return;
    }
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 3};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    struct itimerspec each = {.it_interval = {.tv_nsec = INTERVAL_NS}, .it_value = {.tv_nsec = INTERVAL_NS}};
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &own_timer) == 0) {
        (void)pthread_setspecific(own_timer_end, &own_timer);
        is_interrupted = timer_settime(own_timer, 0, &each, NULL) == 0;
    }
}

JNIEXPORT jint JNICALL Java_JavaStorm_callBack(JNIEnv *env, jclass class, jobject task, jint depth);
JNIEXPORT jint JNICALL Java_JavaStorm_callBack(JNIEnv *env, jclass class, jobject task, jint depth)
{
    (void)class;
    jclass of_task = (*env)->GetObjectClass(env, task);
    jmethodID run = (*env)->GetMethodID(env, of_task, "run", "(I)I");
    jint result = run == NULL ? -1 : (*env)->CallIntMethod(env, task, run, depth);
    if ((*env)->ExceptionCheck(env)) {
        return -1;
    }
    (*env)->DeleteLocalRef(env, of_task);
    return result;
}

JNIEXPORT jint JNICALL Java_JavaStorm_finish(JNIEnv *env, jclass class);
JNIEXPORT jint JNICALL Java_JavaStorm_finish(JNIEnv *env, jclass class)
{
    static const char *const names[SBX_WALK_ENDS] = {
        [SBX_WALK_WHOLE] = "whole",     [SBX_WALK_CUT] = "cut",           [SBX_WALK_NO_JAVA] = "without Java",
        [SBX_WALK_NO_CODE] = "no code", [SBX_WALK_FRAME] = "bad frame",   [SBX_WALK_STACK] = "off the stack",
        [SBX_WALK_DEOPT] = "deopt",     [SBX_WALK_TOO_DEEP] = "too deep", [SBX_WALK_CONTINUATION] = "in the heap"};
    (void)env;
    (void)class;
    (void)printf("%llu signals, %llu stacks with Java, %llu frames, %llu no methods, %llu with a name from before, "
                 "%llu of those wrong, %llu ended with another method than the thread",
                 (unsigned long long)signals, (unsigned long long)of_java, (unsigned long long)frames,
                 (unsigned long long)no_methods, (unsigned long long)named_before, (unsigned long long)misnamed,
                 (unsigned long long)other_roots);
    for (int i = 0; i < SBX_WALK_ENDS; i++) {
        (void)printf(", %llu %s", (unsigned long long)ends[i], names[i]);
    }
    (void)printf("\n");
    unsigned long long whole = ends[SBX_WALK_WHOLE] + ends[SBX_WALK_TOO_DEEP] + ends[SBX_WALK_CONTINUATION];
    return of_java < 100 || no_methods != 0 || named_before == 0 || misnamed != 0 || other_roots != 0 ||
           whole * 100 < of_java * WHOLE_LEAST;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved);
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)vm;
    (void)reserved;
    char reason[SBX_VM_REASON_BYTES] = "";
    sbx_vm_guarded_load = load_word;
    the_vm.sites = &the_sites;
    the_vm.places = &the_places;
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    (void)sigfillset(&action.sa_mask);
    if (library == NULL || sbx_vm_layout_read(&the_vm.layout, find_symbol, library, reason) != SBX_VM_READ ||
        !sbx_code_cache_open(&the_vm.code, &the_vm.layout) || sigaction(SIGRTMAX - 3, &action, NULL) != 0 ||
        pthread_key_create(&own_timer_end, delete_timer) != 0) {
        (void)printf("no walk: %s\n", reason);
        return JNI_ERR;
    }
    return JNI_VERSION_1_6;
}
