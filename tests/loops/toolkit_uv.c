/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit_uv.c - uv_run(), also called in a callback. */
#include <stdlib.h>
#include <uv.h>

#include "toolkit.h"

static bool is_open;

static void free_timer(uv_handle_t *handle)
{
    free(handle);
}

static void on_timer(uv_timer_t *timer)
{
    void (*tick)(void);
    *(void **)&tick = timer->data;
    uv_close((uv_handle_t *)timer, free_timer);
    tick();
}

void toolkit_tick_soon(void (*tick)(void))
{
    uv_timer_t *timer = malloc(sizeof *timer);
    uv_timer_init(uv_default_loop(), timer);
    timer->data = *(void **)&tick;
    uv_timer_start(timer, on_timer, 20, 0);
}

void toolkit_start(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
}

void toolkit_run(void)
{
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

void toolkit_quit(void)
{
    uv_stop(uv_default_loop());
}

void toolkit_dialog(void)
{
    for (is_open = true; is_open;) {
        uv_run(uv_default_loop(), UV_RUN_ONCE);
    }
}

void toolkit_close_dialog(void)
{
    is_open = false;
}

bool toolkit_peek(void)
{
    uv_run(uv_default_loop(), UV_RUN_NOWAIT);
    return true;
}

static void on_reply(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    *(bool *)poll->data = true;
    uv_poll_stop(poll);
    uv_close((uv_handle_t *)poll, NULL);
}

/* As node's execSync() does. */
bool toolkit_await_reply(int fd)
{
    uv_loop_t loop;
    uv_poll_t poll;
    bool is_there = false;
    uv_loop_init(&loop);
    uv_poll_init(&loop, &poll, fd);
    poll.data = &is_there;
    uv_poll_start(&poll, UV_READABLE, on_reply);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_loop_close(&loop);
    return is_there;
}
