/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit_glib.c - g_main_loop_run(), also called in a handler. */
#include <glib.h>
#include <glib-unix.h>

#include "toolkit.h"

static GMainLoop *loop, *dialog;

static gboolean on_tick(gpointer tick)
{
    void (*call)(void);
    *(gpointer *)&call = tick;
    call();
    return G_SOURCE_REMOVE;
}

void toolkit_tick_soon(void (*tick)(void))
{
    g_timeout_add(20, on_tick, *(gpointer *)&tick);
}

void toolkit_start(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    loop = g_main_loop_new(NULL, FALSE);
    dialog = g_main_loop_new(NULL, FALSE);
}

void toolkit_run(void)
{
    g_main_loop_run(loop);
}

void toolkit_quit(void)
{
    g_main_loop_quit(loop);
}

void toolkit_dialog(void)
{
    g_main_loop_run(dialog);
}

void toolkit_close_dialog(void)
{
    g_main_loop_quit(dialog);
}

bool toolkit_peek(void)
{
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    return true;
}

static gboolean on_reply(gint fd, GIOCondition condition, gpointer is_there)
{
    (void)fd;
    (void)condition;
    *(gboolean *)is_there = TRUE;
    return G_SOURCE_REMOVE;
}

/* As g_dbus_connection_call_sync() does. */
bool toolkit_await_reply(int fd)
{
    gboolean is_there = FALSE;
    GMainContext *context = g_main_context_new();
    GSource *source = g_unix_fd_source_new(fd, G_IO_IN);
    g_source_set_callback(source, (GSourceFunc)(void (*)(void))on_reply, &is_there, NULL);
    g_source_attach(source, context);
    while (!is_there) {
        g_main_context_iteration(context, TRUE);
    }
    g_source_unref(source);
    g_main_context_unref(context);
    return true;
}
