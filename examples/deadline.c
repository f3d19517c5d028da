/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.c - a document must be saved within half a second. Three messages of the main thread, none of them long,
 * delay the save: the report's interval includes all of them.
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

static uint64_t saving; /* the deadline; 0: nothing to save */

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
        check_spelling(); /* queued before the save */
    } else if (turn == PRESSED + 4) {
        stallbox_deadline_end(saving); /* too late */
    }
}

int main(void)
{
    if (stallbox_start(NULL) != STALLBOX_OK) {
        fputs("no recorder\n", stderr); /* the program continues all the same */
    }
    for (int turn = 0; turn < TURNS; turn++) {
        poll(NULL, 0, 10);
        handle(turn);
    }
    stallbox_stop(10000); /* waits at most so long if a snapshot is being written */
    return 0;
}
