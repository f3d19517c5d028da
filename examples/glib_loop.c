/* SPDX-License-Identifier: Apache-2.0 */
/* glib_loop.c - a GLib main loop that knows nothing of the recorder: one callback is slow, because it runs a loop of its
 * own until an answer comes, as a modal dialog does.
 *
 *     stallbox run --slow-message-ms 500 -- ./glib_loop; stallbox report ~/.local/state/stallbox/spool */
#include <glib.h>

static GMainLoop *main_loop;

static gboolean quit_loop(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

/* The nested loop polls too: that is part of this message, not many new ones. */
static gboolean ask_the_user(gpointer unused)
{
    GMainLoop *nested = g_main_loop_new(NULL, FALSE);
    (void)unused;
    g_timeout_add(800, quit_loop, nested);
    g_main_loop_run(nested);
    g_main_loop_unref(nested);
    return G_SOURCE_REMOVE;
}

static gboolean work(gpointer unused)
{
    (void)unused;
    return G_SOURCE_CONTINUE;
}

int main(void)
{
    main_loop = g_main_loop_new(NULL, FALSE);
    g_timeout_add(20, work, NULL);
    g_timeout_add(500, ask_the_user, NULL);
    g_timeout_add(1800, quit_loop, main_loop);
    g_main_loop_run(main_loop);
    g_main_loop_unref(main_loop);
    return 0;
}
