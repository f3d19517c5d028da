/* SPDX-License-Identifier: Apache-2.0 */
/* message_kinds.c - a thread works off a queue of jobs. It tells the recorder where each job begins and ends, of which
 * kind it is, and the names of the kinds. One of the jobs takes too long.
 *
 *     ./message_kinds && stallbox report ~/.local/state/stallbox/spool */
#include <pthread.h>
#include <stallbox/stallbox.h>
#include <stdio.h>
#include <time.h>

enum job {
    JOB_SCROLL = 1,
    JOB_RENDER = 2
};

enum scene {
    SCENE_READER = 1
};

static double width;

__attribute__((noinline)) static void lay_out_the_page(long ms)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 1; i < 10000; i++) {
            width += 1.0 / i;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void *work(void *unused)
{
    (void)unused;
    for (int job = 0; job < 20; job++) {
        enum job kind = job % 10 == 9 ? JOB_RENDER : JOB_SCROLL;
        stallbox_message_begin(kind);
        lay_out_the_page(job == 19 ? 700 : 5);
        stallbox_message_end();
    }
    return NULL;
}

int main(void)
{
    struct stallbox_options options = {.sizeof_options = sizeof options, .slow_message_ms = 500};
    pthread_t worker;
    enum stallbox_result result = stallbox_start(&options);
    if (result != STALLBOX_OK) {
        fprintf(stderr, "message_kinds: %s\n", stallbox_result_name(result));
        return 1;
    }
    stallbox_message_name(JOB_SCROLL, "scroll");
    stallbox_message_name(JOB_RENDER, "render the page");
    stallbox_scene_name(SCENE_READER, "the reader");
    stallbox_set_scene(SCENE_READER);
    if (pthread_create(&worker, NULL, work, NULL) != 0) {
        return 1;
    }
    pthread_join(worker, NULL);
    printf("%.0f\n", width);
    stallbox_stop(10000); /* waits at most so long if a snapshot is being written */
    return 0;
}
