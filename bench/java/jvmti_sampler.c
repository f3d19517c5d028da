/* SPDX-License-Identifier: Apache-2.0 */
/* jvmti_sampler.c - a profiler as commonly built on the JVM's tool interface: its own thread repeatedly asks for the
 * stacks of all running threads.
 *
 * usage: java -agentpath:libjvmti_sampler.so=INTERVAL_US
 * Prints the number of stacks at the end. */
#include <jvmti.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    FRAMES = 64
};

static long interval_us;
static unsigned long stacks; /* used by the sampler's thread only */

static void take_samples(jvmtiEnv *tools, JNIEnv *env)
{
    static jvmtiFrameInfo frames[FRAMES];
    jthread *threads;
    jint count = 0, depth, state;
    if ((*tools)->GetAllThreads(tools, &count, &threads) != JVMTI_ERROR_NONE) {
        return;
    }
    for (jint i = 0; i < count; i++) {
        bool runs = (*tools)->GetThreadState(tools, threads[i], &state) == JVMTI_ERROR_NONE &&
                    (state & JVMTI_THREAD_STATE_RUNNABLE) != 0;
        if (runs && (*tools)->GetStackTrace(tools, threads[i], 0, FRAMES, frames, &depth) == JVMTI_ERROR_NONE) {
            stacks++;
        }
        (*env)->DeleteLocalRef(env, threads[i]);
    }
    (*tools)->Deallocate(tools, (unsigned char *)threads);
}

static void JNICALL run(jvmtiEnv *tools, JNIEnv *env, void *unused)
{
    const struct timespec pause = {interval_us / 1000000, interval_us % 1000000 * 1000};
    (void)unused;
    for (;;) {
        nanosleep(&pause, NULL);
        take_samples(tools, env);
    }
}

static void JNICALL on_begin(jvmtiEnv *tools, JNIEnv *env, jthread first)
{
    jclass class = (*env)->FindClass(env, "java/lang/Thread");
    jmethodID make = class != NULL ? (*env)->GetMethodID(env, class, "<init>", "()V") : NULL;
    jobject thread = make != NULL ? (*env)->NewObject(env, class, make) : NULL;
    (void)first;
    if (thread == NULL ||
        (*tools)->RunAgentThread(tools, thread, run, NULL, JVMTI_THREAD_NORM_PRIORITY) != JVMTI_ERROR_NONE) {
        fputs("jvmti_sampler: there is no thread to sample with\n", stderr);
    }
}

static void JNICALL on_end(jvmtiEnv *tools, JNIEnv *env)
{
    (void)tools;
    (void)env;
    fprintf(stderr, "jvmti_sampler: %lu stacks\n", stacks);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *machine, char *options, void *reserved)
{
    jvmtiEnv *tools;
    jvmtiEventCallbacks callbacks = {.VMInit = on_begin, .VMDeath = on_end};
    (void)reserved;
    interval_us = options != NULL ? strtol(options, NULL, 10) : 1000;
    return (*machine)->GetEnv(machine, (void **)&tools, JVMTI_VERSION_1_2) == JNI_OK &&
                   (*tools)->SetEventCallbacks(tools, &callbacks, sizeof callbacks) == JVMTI_ERROR_NONE &&
                   (*tools)->SetEventNotificationMode(tools, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL) ==
                       JVMTI_ERROR_NONE &&
                   (*tools)->SetEventNotificationMode(tools, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL) ==
                       JVMTI_ERROR_NONE
               ? JNI_OK
               : JNI_ERR;
}
