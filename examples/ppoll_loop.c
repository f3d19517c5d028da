/* SPDX-License-Identifier: Apache-2.0 */
/* ppoll_loop.c - a loop over ppoll like that of Qt's event dispatcher, with a dialog that runs the loop again inside a
 * handler: that is one message, however often it polls.
 *
 *     stallbox run --slow-message-ms 500 -- ./ppoll_loop; stallbox report ~/.local/state/stallbox/spool */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum {
    TURN_MS = 20,
    TURNS = 60,
    DIALOG_AT = 25,
    DIALOG_TURNS = 40
};

struct dispatcher {
    int turn;
    bool has_dialog; /* a handler runs a nested loop */
};

static void process_events(struct dispatcher *dispatcher);

static void open_dialog(struct dispatcher *dispatcher)
{
    struct dispatcher nested = {.has_dialog = true};
    (void)dispatcher;
    while (nested.turn < DIALOG_TURNS) {
        process_events(&nested);
    }
    puts("the dialog is closed");
}

static void dispatch(struct dispatcher *dispatcher)
{
    if (++dispatcher->turn == DIALOG_AT && !dispatcher->has_dialog) {
        open_dialog(dispatcher);
    }
}

static void process_events(struct dispatcher *dispatcher)
{
    const struct timespec pause = {0, TURN_MS * 1000000L};
    ppoll(NULL, 0, &pause, NULL);
    dispatch(dispatcher);
}

int main(void)
{
    struct dispatcher dispatcher = {.turn = 0};
    while (dispatcher.turn < TURNS) {
        process_events(&dispatcher);
    }
    return 0;
}
