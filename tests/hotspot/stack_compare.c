/* SPDX-License-Identifier: Apache-2.0 */
/* stack_compare.c - native methods of StackCompare and similar classes: our walk of the calling thread compared with
 * GetStackTrace of the machine's tool interface, and which thread is reported as the owner of a monitor.
 *
 * A jmethodID of HotSpot is a pointer to its Method*, so both sides identify methods in the same way. */
#include <errno.h>
#include <inttypes.h>
#include <dlfcn.h>
#include <jvmti.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "java_name.h"
#include "java_stack.h"
#include "java_thread.h"

enum {
    FRAMES_MAX = 512,
    TOLD_MAX = 10,  /* differences that are printed */
    NAMED_EVERY = 8 /* stacks whose names and lines are compared as well: these are slow to ask for */
};

static jvmtiEnv *tools;
static struct sbx_java_vm the_vm;
static struct sbx_java_threads the_threads = {.get_specific = pthread_getspecific};
static struct sbx_call_sites the_sites;
static struct sbx_place_cache the_places;
static atomic_ullong stacks, frames, borders, different, names, differently_named, known, in_heap;

static bool are_virtual;            /* whether the comparing threads are virtual */
static __thread uint64_t pages[64]; /* pages that could be read in this comparison */

static bool load_word(uint64_t address, uint64_t *word_out)
{
    uint64_t page = address >> 12, *asked = &pages[page % 64];
    if (*asked == page) {
        *word_out = *(const uint64_t *)(uintptr_t)address;
        return true;
    }
    struct iovec to = {word_out, 8}, from = {(void *)(uintptr_t)address, 8};
    int saved_errno = errno;
    bool is_there = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 8;
    errno = saved_errno;
    *asked = is_there ? page : *asked;
    return is_there;
}

static const void *find_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

struct told {
    uint32_t count, borders;
    struct sbx_java_call calls[FRAMES_MAX];
};

static bool take(void *to, struct sbx_java_call *call)
{
    struct told *told = to;
    told->borders += call->is_border;
    if (call->has_name) {
        known++;
    } else { /* remember it, so that the next walk finds it */
        struct sbx_method method;
        struct sbx_java_name name;
        if (sbx_method_read(&method, &the_vm.layout, call->method)) {
            sbx_java_name_make(&name, &method, &the_vm.layout);
            call->id = name.id;
            call->line = call->bci < 0 ? 0 : sbx_method_line(&method, &the_vm.layout, call->bci);
            call->has_name = true;
        }
    }
    told->calls[told->count++] = *call;
    return told->count < FRAMES_MAX;
}

static void print_method(const char *whose, uint32_t number, jmethodID id, long bci)
{
    char *name = NULL;
    (void)(*tools)->GetMethodName(tools, id, &name, NULL, NULL);
    (void)printf("  %s %u: %s bci %ld\n", whose, number, name == NULL ? "?" : name, bci);
}

/* The walk of a platform thread must have all frames and no others. That of a virtual thread has the carrier's frames
 * after its own, or ends where the rest is in the heap. */
static bool has_right_length(const struct told *told, enum sbx_java_walk_end end, uint32_t count)
{
    in_heap += end == SBX_WALK_CONTINUATION;
    return are_virtual && end == SBX_WALK_CONTINUATION
               ? told->count > 0 && told->count <= count
               : end == SBX_WALK_WHOLE && (are_virtual ? told->count > count : told->count == count);
}

static bool judge(const struct told *told, enum sbx_java_walk_end end, const jvmtiFrameInfo *theirs, uint32_t count)
{
    bool is_same = has_right_length(told, end, count);
    count = is_same && told->count < count ? told->count : count;
    uint32_t at = 0;
    for (; is_same && at < count; at++) {
        uint64_t method = *(uint64_t *)(void *)theirs[at].method;
        is_same = method == told->calls[at].method && theirs[at].location == told->calls[at].bci;
    }
    stacks++;
    frames += count;
    borders += told->borders;
    if (is_same || different++ >= TOLD_MAX) {
        return is_same;
    }
    (void)printf("different: our walk ended with %d after %u frames, there are %u; at %u\n", (int)end, told->count,
                 count, at);
    for (uint32_t i = 0; i < count || i < told->count; i++) {
        if (i < count) {
            print_method("theirs", i, theirs[i].method, (long)theirs[i].location);
        }
        if (i < told->count) {
            (void)printf("  ours   %u: %d%s %s\n", i, told->calls[i].bci, told->calls[i].is_border ? " border" : "",
                         i < count && *(uint64_t *)(void *)theirs[i].method == told->calls[i].method ? ""
                                                                                                     : "other method");
        }
    }
    return false;
}

static uint32_t their_line(jmethodID id, jlocation bci)
{
    jvmtiLineNumberEntry *lines = NULL;
    jint count = 0;
    if ((*tools)->GetLineNumberTable(tools, id, &count, &lines) != JVMTI_ERROR_NONE) {
        return 0;
    }
    jlocation best_at = -1;
    uint32_t best = 0;
    for (jint i = 0; i < count; i++) {
        if (lines[i].start_location <= bci && lines[i].start_location > best_at) {
            best_at = lines[i].start_location;
            best = (uint32_t)lines[i].line_number;
        }
    }
    (void)(*tools)->Deallocate(tools, (unsigned char *)lines);
    return best;
}

/* The tool interface's name in our notation; names of classes that the machine made end before their number. */
static void their_name(jmethodID id, char *function, size_t bytes, char *file, size_t file_bytes)
{
    jclass class = NULL;
    char *method = NULL, *signature = NULL, *source = NULL;
    (void)(*tools)->GetMethodName(tools, id, &method, NULL, NULL);
    (void)(*tools)->GetMethodDeclaringClass(tools, id, &class);
    (void)(*tools)->GetClassSignature(tools, class, &signature, NULL);
    (void)snprintf(file, file_bytes, "%s",
                   (*tools)->GetSourceFileName(tools, class, &source) == JVMTI_ERROR_NONE ? source : "");
    char *name = signature + 1;
    name[strlen(name) - 1] = '\0';
    static const char *const made_up[] = {"$$Lambda", "Accessor", "$Proxy"};
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++) {
        char *at = strstr(name, made_up[i]);
        at = at == NULL ? NULL : at + strlen(made_up[i]);
        if (at != NULL && (i == 0 || (*at >= '0' && *at <= '9'))) {
            *at = '\0';
        }
    }
    char *address = strstr(name, ".0x");
    if (address != NULL) {
        *address = '\0';
    }
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == '/' ? '.' : *at;
    }
    (void)snprintf(function, bytes, "%s.%s", name, method);
    (void)(*tools)->Deallocate(tools, (unsigned char *)method);
    (void)(*tools)->Deallocate(tools, (unsigned char *)signature);
    (void)(*tools)->Deallocate(tools, (unsigned char *)source);
}

static void judge_names(const struct told *told, const jvmtiFrameInfo *theirs, uint32_t count)
{
    for (uint32_t i = 0; i < told->count && i < count; i++) {
        struct sbx_method method;
        struct sbx_java_name name = {.id = 0};
        char function[512], file[256];
        uint32_t line = 0;
        if (sbx_method_read(&method, &the_vm.layout, told->calls[i].method)) {
            sbx_java_name_make(&name, &method, &the_vm.layout);
            line = sbx_method_line(&method, &the_vm.layout, told->calls[i].bci);
        }
        their_name(theirs[i].method, function, sizeof function, file, sizeof file);
        uint32_t wanted = theirs[i].location < 0 ? 0 : their_line(theirs[i].method, theirs[i].location);
        names++;
        const struct sbx_java_call *call = &told->calls[i]; /* its name may come from an earlier walk */
        if (call->has_name && call->id == name.id && call->line == wanted && strlen(function) == name.function_bytes &&
            memcmp(function, name.function, name.function_bytes) == 0 && strlen(file) == name.file_bytes &&
            memcmp(file, name.file, name.file_bytes) == 0 && line == wanted) {
            continue;
        }
        if (differently_named++ < TOLD_MAX) {
            (void)printf("named otherwise: %s %s:%u, by us %.*s %.*s:%u, known as %llx:%u and not as %llx\n", function,
                         file, wanted, (int)name.function_bytes, name.function, (int)name.file_bytes, name.file, line,
                         (unsigned long long)call->id, call->line, (unsigned long long)name.id);
        }
    }
}

JNIEXPORT void JNICALL Java_StackCompare_compare(JNIEnv *env, jclass class);
JNIEXPORT void JNICALL Java_StackCompare_compare(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    jvmtiFrameInfo theirs[FRAMES_MAX];
    jint count = 0;
    struct told told = {.count = 0};
    memset(pages, 0, sizeof pages);
    if ((*tools)->GetStackTrace(tools, NULL, 0, FRAMES_MAX, theirs, &count) != JVMTI_ERROR_NONE ||
        count == FRAMES_MAX) {
        return;
    }
    uint64_t thread = sbx_java_thread_self(&the_threads);
    if (thread == 0 && sbx_java_threads_learn(&the_threads, &the_vm)) {
        thread = sbx_java_thread_self(&the_threads);
    }
    struct sbx_java_begin begin = {.sp = (uint64_t)(uintptr_t)__builtin_frame_address(0) & ~UINT64_C(7)};
    enum sbx_java_walk_end end = thread == 0 ? SBX_WALK_NO_JAVA : sbx_java_walk(&the_vm, thread, &begin, take, &told);
    if (judge(&told, end, theirs, (uint32_t)count) && stacks % NAMED_EVERY == 0) {
        judge_names(&told, theirs, (uint32_t)count);
    }
}

JNIEXPORT void JNICALL Java_VirtualCompare_areVirtual(JNIEnv *env, jclass class);
JNIEXPORT void JNICALL Java_VirtualCompare_areVirtual(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    are_virtual = true;
}

/* ---- holders of monitors ---- */

static atomic_ullong waits, right, untold;

static uint64_t word_at(uint64_t address)
{
    return *(const uint64_t *)(uintptr_t)address;
}

JNIEXPORT void JNICALL Java_HolderCompare_haveIt(JNIEnv *env, jclass class);
JNIEXPORT void JNICALL Java_HolderCompare_haveIt(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    const struct sbx_vm_layout *layout = &the_vm.layout;
    uint64_t list = word_at(layout->java_thread_list), threads = word_at(list + layout->list_threads);
    uint32_t count =
        (uint32_t)(word_at((list + layout->list_length) & ~UINT64_C(7)) >> ((layout->list_length & 7) * 8));
    memset(pages, 0, sizeof pages);
    if (the_threads.key == 0) {
        (void)sbx_java_threads_learn(&the_threads, &the_vm);
    }
    for (uint32_t i = 0; i < count; i++) { /* no thread ends meanwhile, so the list stays valid */
        uint64_t thread = word_at(threads + (uint64_t)i * 8);
        if (word_at(thread + layout->thread_pending_monitor) == 0) {
            continue;
        }
        uint32_t holder = sbx_java_monitor_holder(&the_threads, &the_vm, thread);
        waits++;
        right += holder == (uint32_t)gettid();
        untold += holder == 0;
    }
}

JNIEXPORT jint JNICALL Java_HolderCompare_finishHolders(JNIEnv *env, jclass class);
JNIEXPORT jint JNICALL Java_HolderCompare_finishHolders(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    unsigned long long wrong = waits - right - untold;
    (void)printf("%llu waits: holder told %llu times, not told %llu times, wrong %llu times\n",
                 (unsigned long long)waits, (unsigned long long)right, (unsigned long long)untold, wrong);
    return wrong != 0 || right == 0;
}

JNIEXPORT jint JNICALL Java_StackCompare_callBack(JNIEnv *env, jclass class, jobject task, jint depth);
JNIEXPORT jint JNICALL Java_StackCompare_callBack(JNIEnv *env, jclass class, jobject task, jint depth)
{
    (void)class;
    jmethodID run = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, task), "run", "(I)I");
    return run == NULL ? -1 : (*env)->CallIntMethod(env, task, run, depth);
}

JNIEXPORT jint JNICALL Java_StackCompare_finish(JNIEnv *env, jclass class);
JNIEXPORT jint JNICALL Java_StackCompare_finish(JNIEnv *env, jclass class)
{
    (void)env;
    (void)class;
    (void)printf("%llu stacks, %llu frames, %llu borders: %llu different; %llu names and lines: %llu different; "
                 "%llu frames were known; the rest of %llu lay in the heap\n",
                 (unsigned long long)stacks, (unsigned long long)frames, (unsigned long long)borders,
                 (unsigned long long)different, (unsigned long long)names, (unsigned long long)differently_named,
                 (unsigned long long)known, (unsigned long long)in_heap);
    return stacks < 1000 || different != 0 || names < 1000 || differently_named != 0;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved);
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    (void)reserved;
    char reason[SBX_VM_REASON_BYTES];
    sbx_vm_guarded_load = load_word;
    the_vm.sites = &the_sites;
    the_vm.places = &the_places;
    void *library = dlopen("libjvm.so", RTLD_NOW | RTLD_NOLOAD);
    if ((*vm)->GetEnv(vm, (void **)&tools, JVMTI_VERSION_1_2) != JNI_OK || library == NULL) {
        return JNI_ERR;
    }
    jvmtiCapabilities wanted = {.can_get_line_numbers = 1, .can_get_source_file_name = 1};
    (void)(*tools)->AddCapabilities(tools, &wanted);
    if (sbx_vm_layout_read(&the_vm.layout, find_symbol, library, reason) != SBX_VM_READ ||
        !sbx_code_cache_open(&the_vm.code, &the_vm.layout)) {
        (void)printf("no walk: %s\n", reason);
        return JNI_ERR;
    }
    return JNI_VERSION_1_6;
}
