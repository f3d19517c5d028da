/* SPDX-License-Identifier: Apache-2.0 */
/* loop_script.c - the program's actions: a tick each 20 ms, and in one of them the action of the case.
 *
 * usage: PROGRAM CASE. `judge` beside this file says what is expected of each case. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "toolkit.h"

enum {
    SPECIAL_TICK = 30,
    DIALOG_MS = 3500,
    HANG_MS = 2500, /* the limit is 1500 */
    REPLY_MS = 1,
};

#define NOT_INLINED  __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("")

static const char *the_case;
static int ticks, special_tick = SPECIAL_TICK;
static bool is_open, is_computing, has_hung, is_over;
static int64_t opened_ms;
static int peer[2];

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void pause_ms(int ms)
{
    struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    while (nanosleep(&time, &time) != 0 && errno == EINTR) {
    }
}

static bool is_case(const char *name)
{
    return strcmp(the_case, name) == 0;
}

/* ---- the peer of a blocking call ---- */

static void *answer(void *unused)
{
    int ms;
    while (read(peer[1], &ms, sizeof ms) == (ssize_t)sizeof ms) {
        pause_ms(ms);
        if (write(peer[1], &ms, sizeof ms) != (ssize_t)sizeof ms) {
            break;
        }
    }
    return unused;
}

NOT_INLINED static void ask_peer(int ms)
{
    struct pollfd reply = {.fd = peer[0], .events = POLLIN};
    if (write(peer[0], &ms, sizeof ms) != (ssize_t)sizeof ms) {
        abort();
    }
    while (poll(&reply, 1, -1) <= 0) {
    }
    if (read(peer[0], &ms, sizeof ms) != (ssize_t)sizeof ms) {
        abort();
    }
    KEEP_FRAME();
}

NOT_INLINED static void ask_peer_in_a_loop_of_its_own(int ms)
{
    if (write(peer[0], &ms, sizeof ms) != (ssize_t)sizeof ms || !toolkit_await_reply(peer[0]) ||
        read(peer[0], &ms, sizeof ms) != (ssize_t)sizeof ms) {
        abort();
    }
    KEEP_FRAME();
}

/* ---- the cases ---- */

static volatile int hung_in; /* the compiler would merge two functions that do the same */
static const struct timespec hang = {HANG_MS / 1000, HANG_MS % 1000 * 1000000L};

NOT_INLINED static void hang_in_dialog(void)
{
    hung_in = 1;
    nanosleep(&hang, NULL);
    KEEP_FRAME();
}

NOT_INLINED static void hang_after_dialog(void)
{
    hung_in = 2;
    nanosleep(&hang, NULL);
    KEEP_FRAME();
}

NOT_INLINED static void show_dialog(void)
{
    is_open = true;
    opened_ms = now_ms();
    toolkit_dialog();
    is_open = false;
    if (is_case("hangs_after")) {
        hang_after_dialog();
    }
    KEEP_FRAME();
}

NOT_INLINED static void compute_and_peek(void)
{
    is_computing = true;
    for (int64_t until_ms = now_ms() + DIALOG_MS; now_ms() < until_ms;) {
        for (int64_t pause = now_ms() + 50; now_ms() < pause;) {
        }
        toolkit_peek();
    }
    is_computing = false;
    KEEP_FRAME();
}

__attribute__((weak)) void toolkit_present(void)
{
}

NOT_INLINED static void show_frames(int ms)
{
    for (int64_t until_ms = now_ms() + ms; now_ms() < until_ms;) {
        pause_ms(10);
        toolkit_present();
    }
    KEEP_FRAME();
}

NOT_INLINED static void hang_in_fade(void)
{
    hung_in = 3;
    nanosleep(&hang, NULL);
    KEEP_FRAME();
}

NOT_INLINED static void fade(void)
{
    show_frames(is_case("fades") ? HANG_MS : HANG_MS / 5);
    if (is_case("hangs_in_fade")) {
        hang_in_fade();
        show_frames(HANG_MS / 5);
    }
    KEEP_FRAME();
}

static void tick(void);

static void tick_in_dialog(void)
{
    int64_t open_ms = now_ms() - opened_ms;
    if (is_case("hangs_inside") && !has_hung && open_ms > DIALOG_MS / 3) {
        has_hung = true;
        hang_in_dialog();
    } else if (open_ms > DIALOG_MS) {
        opened_ms = INT64_MAX / 2;
        toolkit_close_dialog();
    }
}

static void tick(void)
{
    if (is_over) {
        return;
    }
    toolkit_tick_soon(tick);
    if (is_open) {
        tick_in_dialog();
        return;
    }
    if (is_computing) {
        return;
    }
    ticks++;
    bool is_special = ticks == special_tick;
    if (is_case("asks")) {
        ask_peer(is_special ? HANG_MS : REPLY_MS);
    } else if (is_case("asks_by_loop")) {
        ask_peer_in_a_loop_of_its_own(is_special ? HANG_MS : REPLY_MS);
    } else if (is_case("peeks")) {
        if (is_special) {
            compute_and_peek();
        }
    } else if (is_case("fades") || is_case("hangs_in_fade")) {
        if (is_special) {
            fade();
        }
    } else if (is_special) {
        show_dialog();
    }
    if (ticks >= special_tick + 10 && !is_over) {
        is_over = true;
        toolkit_quit();
    }
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, peer) != 0 ||
        pthread_create(&thread, NULL, answer, NULL) != 0) {
        return 2;
    }
    the_case = argv[1];
    special_tick = is_case("asks") ? 3 * SPECIAL_TICK : SPECIAL_TICK;
    argc = 1;
    toolkit_start(&argc, &argv);
    toolkit_tick_soon(tick);
    toolkit_run();
    puts("done");
    return 0;
}
