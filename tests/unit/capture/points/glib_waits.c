/* SPDX-License-Identifier: Apache-2.0 */
/* glib_waits.c - the wait functions of GLib programs; called by test_point_foreign.c. */
#include <glib.h>

#include "glib_waits.h"
#include "recorded_process.h"

#define OWN_PLACE __attribute__((noinline))

static GMutex mutex;
static GCond condition;
static gboolean is_ready;

OWN_PLACE void glib_wait_for_mutex(void)
{
    say_about_to_wait();
    g_mutex_lock(&mutex);
    g_mutex_unlock(&mutex);
    KEEP_FRAME();
}

OWN_PLACE void glib_release_mutex(void)
{
    g_mutex_unlock(&mutex);
    KEEP_FRAME();
}

OWN_PLACE void glib_wait_for_condition(void)
{
    g_mutex_lock(&mutex);
    say_about_to_wait();
    while (!is_ready) {
        g_cond_wait(&condition, &mutex);
    }
    g_mutex_unlock(&mutex);
    KEEP_FRAME();
}

OWN_PLACE void glib_signal(void)
{
    g_mutex_lock(&mutex);
    is_ready = TRUE;
    g_cond_signal(&condition);
    g_mutex_unlock(&mutex);
    KEEP_FRAME();
}

static gpointer wait_twice(gpointer unused)
{
    (void)unused;
    glib_wait_for_mutex();
    glib_wait_for_condition();
    return NULL;
}

void child_waits_in_glib(void)
{
    child_wait_for_all_rows(); /* GLib's rows: its threads begin in it */
    g_mutex_lock(&mutex);
    GThread *thread = g_thread_new("waits", wait_twice, NULL);
    let_them_wait(1);
    glib_release_mutex();
    let_them_wait(1);
    glib_signal();
    g_thread_join(thread);
}
