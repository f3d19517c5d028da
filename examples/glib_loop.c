/* SPDX-License-Identifier: Apache-2.0 */
/* glib_loop.c - a GLib main loop that does not know the recorder. A callback runs a nested loop until an answer comes,
 * as a modal dialog does. The nested loop turns, so this is no stall. But what a callback inside that loop does for 800
 * ms is one.
 *
 *     stallbox run --slow-message-ms 500 -- ./glib_loop; stallbox report ~/.local/state/stallbox/spool */
#include <glib.h>

static GMainLoop *main_loop;

static gboolean quit_loop(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static gboolean save_the_document(gpointer unused)
{
    (void)unused;
    g_usleep(800000);
    return G_SOURCE_REMOVE;
}

/* The nested loop answers meanwhile: each of its turns begins a message. */
static gboolean ask_the_user(gpointer unused)
{
    GMainLoop *nested = g_main_loop_new(NULL, FALSE);
    (void)unused;
    g_timeout_add(300, save_the_document, NULL);
    g_timeout_add(1500, quit_loop, nested);
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
    g_timeout_add(2500, quit_loop, main_loop);
    g_main_loop_run(main_loop);
    g_main_loop_unref(main_loop);
    return 0;
}
