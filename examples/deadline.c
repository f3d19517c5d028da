/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.c - a document is to be saved within half a second. Three messages of the main thread, none of them long, keep
 * the saving from happening in time: the report's interval reaches back over all of them.
 *
 *     ./deadline && stallbox report ~/.local/state/stallbox/spool */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <stallbox/stallbox.h>

enum {
    TURNS = 60,
    PRESSED = 20
};

static uint64_t saving; /* the deadline; 0: nothing is to be saved */

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

static void check_spelling(void)
{
    pause_ms(250);
}

static void handle(int turn)
{
    if (turn == PRESSED) {
        saving = stallbox_deadline_begin("save the document", 500);
    } else if (turn > PRESSED && turn <= PRESSED + 3) {
        check_spelling(); /* queued before the saving */
    } else if (turn == PRESSED + 4) {
        stallbox_deadline_end(saving); /* too late */
    }
}

int main(void)
{
    if (stallbox_start(NULL) != STALLBOX_OK) {
        fputs("no recorder\n", stderr); /* the program goes on all the same */
    }
    for (int turn = 0; turn < TURNS; turn++) {
        poll(NULL, 0, 10);
        handle(turn);
    }
    stallbox_stop(10000); /* so long at the most, when a snapshot is being written */
    return 0;
}
