/* SPDX-License-Identifier: Apache-2.0 */
/* hello_stall.c - an event loop with one slow handler, and the recorder that reports it.
 *
 *     ./hello_stall && stallbox report ~/.local/state/stallbox/spool */
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include <stallbox/stallbox.h>

static void slow_handler(void)
{
    const struct timespec pause = {1, 500000000};
    nanosleep(&pause, NULL);
}

int main(void)
{
    enum stallbox_result result = stallbox_start(NULL);
    if (result != STALLBOX_OK) {
        fprintf(stderr, "no recorder: %s\n", stallbox_result_name(result)); /* the program continues all the same */
    }
    struct pollfd none = {.fd = -1};
    for (int turn = 0; turn < 50; turn++) {
        poll(&none, 1, 20);
        if (turn == 25) {
            slow_handler(); /* longer than slow_message_ms: saved when it ends */
        }
    }
    struct stallbox_counts counts = {.sizeof_counts = sizeof counts};
    if (stallbox_read_counts(&counts) == STALLBOX_OK) {
        printf("%llu messages, %llu snapshots\n", (unsigned long long)counts.messages,
               (unsigned long long)counts.snapshots);
    }
    stallbox_stop(10000); /* waits at most so long if a snapshot is being written */
    return 0;
}
