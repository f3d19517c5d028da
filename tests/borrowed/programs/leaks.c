/* SPDX-License-Identifier: Apache-2.0 */
/* leaks.c - leaks for LeakSanitizer to find: with `leak` three blocks, otherwise none, not even memory that threads
 * still hold. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *held_by_the_program;
static _Thread_local void *held_by_a_thread;

static void *hold(void *held)
{
    held_by_a_thread = malloc(500);
    void *volatile on_the_stack = malloc(600);
    *(void **)on_the_stack = held_by_a_thread;
    for (int i = 0; i < 30; i++) {
        usleep(3000);
    }
    pause();
    free(on_the_stack);
    return held;
}

__attribute__((noinline)) static void leak(void)
{
    for (int i = 0; i < 3; i++) {
        void *volatile lost = malloc(100);
        memset(lost, 1, 100);
    }
}

int main(int count, char **arguments)
{
    (void)arguments;
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, NULL, hold, NULL);
    }
    held_by_the_program = malloc(400);
    if (count > 1) {
        leak();
    }
    usleep(100000);
    return 0;
}
