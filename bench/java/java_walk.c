/* SPDX-License-Identifier: Apache-2.0 */
/* java_walk.c - our walk of a Java stack, with ids and lines, compared with GetStackTrace of the JVM's tool interface.
 *
 * It runs in a process that `stallbox run` records, because the guarded loads are the agent's. The provider is measured
 * unchanged: its file is part of this one. */
#include <jvmti.h>

#include "provider.c"

#include "rounds.h"
#include "step_count.h"

enum {
    WALKS = 2000, /* of a round */
    FRAMES = 64
};

static jvmtiEnv *tools;

static double time_ours(size_t *depth_out)
{
    static uint64_t functions[FRAMES];
    static uint32_t lines[FRAMES];
    void *context = resolve();
    double begin = bench_now_ns();
    for (int i = 0; i < WALKS && context != NULL; i++) {
        *depth_out = walk_at(resolve(), NULL, 0, functions, lines, FRAMES);
    }
    return (bench_now_ns() - begin) / WALKS;
}

static void walk_once(void *to)
{
    static uint64_t functions[FRAMES];
    static uint32_t lines[FRAMES];
    (void)to;
    (void)walk_at(resolve(), NULL, 0, functions, lines, FRAMES);
}

static double time_theirs(void)
{
    static jvmtiFrameInfo frames[FRAMES];
    jint count = 0;
    double begin = bench_now_ns();
    for (int i = 0; i < WALKS; i++) {
        (void)(*tools)->GetStackTrace(tools, NULL, 0, FRAMES, frames, &count);
    }
    return (bench_now_ns() - begin) / WALKS;
}

JNIEXPORT jint JNICALL Java_JavaWalk_measure(JNIEnv *env, jclass class, jint rounds, jboolean json, jstring what);
JNIEXPORT jint JNICALL Java_JavaWalk_measure(JNIEnv *env, jclass class, jint rounds, jboolean json, jstring what)
{
    static struct bench_series ours, theirs;
    size_t depth = 0;
    (void)class;
    if (rounds > 0) { /* after this the recorder knows the thread, as in every real walk */
        stallbox_message_begin(1);
        stallbox_message_end();
        if (!stallbox_is_running()) {
            (void)fprintf(stderr, "bench_java: nothing records: each look at memory asks the kernel\n");
        }
    }
    for (jint i = 0; i < rounds; i++) {
        bench_series_add(&ours, time_ours(&depth));
        bench_series_add(&theirs, time_theirs());
    }
    if (rounds > 0) {
        char metric[96];
        const char *text = (*env)->GetStringUTFChars(env, what, NULL);
        (void)snprintf(metric, sizeof metric, "walk of %zu %s frames, with ids and lines", depth, text);
        const struct bench_line line = {
            .bench = "java", .metric = metric, .unit = "ns", .peer = "JVMTI GetStackTrace", .reach = "value <= 700"};
        bench_print(json, &line, &ours, &theirs);
        struct bench_series steps = {.count = 0};
        bench_series_add(&steps, (double)bench_count_steps(walk_once, NULL));
        (void)snprintf(metric, sizeof metric, "instructions of a walk of %zu %s frames", depth, text);
        const struct bench_line counted = {.bench = "java", .metric = metric, .unit = "instructions"};
        bench_print(json, &counted, &steps, NULL);
        (void)fflush(stdout);
    }
    return 0;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved);
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
    char why[SBX_VM_REASON_BYTES] = "";
    (void)reserved;
    if ((*vm)->GetEnv(vm, (void **)&tools, JVMTI_VERSION_1_2) != JNI_OK ||
        stallbox_runtime_attach(why, sizeof why) != 1) {
        (void)fprintf(stderr, "bench_java: no walk: %s\n", why);
        return JNI_ERR;
    }
    return JNI_VERSION_1_6;
}
