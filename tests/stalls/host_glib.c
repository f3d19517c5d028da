/* SPDX-License-Identifier: Apache-2.0 */
/* host_glib.c - GLib's main loop, and the cases that need GLib. */
#include <gio/gio.h>
#include <glib.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "stall.h"

static GMainLoop *loop;
static int (*the_step)(void);

static gboolean on_timer(gpointer unused)
{
    int next_ms = the_step();
    if (next_ms < 0) {
        g_main_loop_quit(loop);
    } else if (next_ms == 0) {
        g_idle_add(on_timer, unused);
    } else {
        g_timeout_add((guint)next_ms, on_timer, unused);
    }
    return G_SOURCE_REMOVE;
}

void host_loop(int (*step)(void))
{
    the_step = step;
    loop = g_main_loop_new(NULL, FALSE);
    g_timeout_add(15, on_timer, NULL);
    g_main_loop_run(loop);
}

/* ---- a GMutex that a thread holds ---- */

static gint is_held;
static GMutex album_lock;
static GAsyncQueue *thumbnails;

static STALL_FUNCTION void decode_album(void)
{
    stall_pause_ms(stall_ms);
    STALL_STAY();
}

static STALL_FUNCTION gpointer hold_album(gpointer unused)
{
    g_mutex_lock(&album_lock);
    g_atomic_int_set(&is_held, 1);
    decode_album();
    g_mutex_unlock(&album_lock);
    return unused;
}

static STALL_FUNCTION void show_album(int n)
{
    g_thread_unref(g_thread_new("album-loader", hold_album, NULL));
    while (g_atomic_int_get(&is_held) == 0) {
        stall_pause_ms(2);
    }
    g_mutex_lock(&album_lock);
    stall_sink += (uint64_t)n;
    g_mutex_unlock(&album_lock);
}

/* ---- a queue that a thread fills late ---- */

static STALL_FUNCTION void scale_thumbnail(void)
{
    for (int64_t until_ns = stall_now_ns() + (stall_ms - 100) * INT64_C(1000000); stall_now_ns() < until_ns;) {
        for (int i = 0; i < 4000; i++) {
            stall_sink += (uint64_t)i * 3;
        }
    }
}

static STALL_FUNCTION gpointer make_thumbnails(gpointer unused)
{
    for (;;) {
        gpointer order = g_async_queue_pop((GAsyncQueue *)unused);
        scale_thumbnail();
        g_async_queue_push(thumbnails, order);
    }
    return NULL;
}

static GAsyncQueue *orders;

static void prepare_thumbnails(void)
{
    orders = g_async_queue_new();
    thumbnails = g_async_queue_new();
    g_thread_unref(g_thread_new("thumbnailer", make_thumbnails, orders));
}

static STALL_FUNCTION void await_thumbnail(int n)
{
    g_async_queue_push(orders, GINT_TO_POINTER(n));
    stall_sink += (uint64_t)GPOINTER_TO_INT(g_async_queue_pop(thumbnails));
}

/* ---- asleep by GLib ---- */

static STALL_FUNCTION void fade_out(int n)
{
    g_usleep((useconds_t)stall_ms * 1000);
    stall_sink += (uint64_t)n;
}

/* ---- a main context run inside a handler ---- */

static gboolean on_answer(gpointer done)
{
    *(int *)done = 1;
    return G_SOURCE_REMOVE;
}

static STALL_FUNCTION void sort_playlist(void)
{
    GList *list = NULL;
    for (int64_t until_ns = stall_now_ns() + stall_ms * INT64_C(1000000); stall_now_ns() < until_ns;) {
        for (int i = 0; i < 3000; i++) {
            list = g_list_prepend(list, GINT_TO_POINTER((i * 7919) % 3000));
        }
        list = g_list_sort(list, (GCompareFunc)(void (*)(void))g_direct_hash);
        g_list_free(list);
        list = NULL;
    }
}

static STALL_FUNCTION void play_nested(int n)
{
    int done = 0;
    g_idle_add(on_answer, &done);
    while (!done) {
        g_main_context_iteration(NULL, TRUE);
    }
    sort_playlist();
    stall_sink += (uint64_t)n;
}

/* ---- a call over D-Bus to a service that takes its time, from one process to another without a bus between ---- */

static char bus_address[160];

static GDBusMessage *answer_late(GDBusConnection *connection, GDBusMessage *message, gboolean incoming, gpointer unused)
{
    (void)unused;
    if (incoming && g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL) {
        stall_pause_ms(stall_ms);
        g_dbus_connection_send_message(connection, g_dbus_message_new_method_reply(message),
                                       G_DBUS_SEND_MESSAGE_FLAGS_NONE, NULL, NULL);
        g_object_unref(message);
        return NULL;
    }
    return message;
}

static gboolean on_connection(GDBusServer *server, GDBusConnection *connection, gpointer unused)
{
    (void)server;
    g_object_ref(connection);
    g_dbus_connection_add_filter(connection, answer_late, unused, NULL);
    return TRUE;
}

static void start_service(void)
{
    g_snprintf(bus_address, sizeof bus_address, "unix:path=%s/bus", stall_folder());
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        gchar *guid = g_dbus_generate_guid();
        GDBusServer *server = g_dbus_server_new_sync(bus_address, G_DBUS_SERVER_FLAGS_AUTHENTICATION_ALLOW_ANONYMOUS,
                                                     guid, NULL, NULL, NULL);
        if (server == NULL) {
            _exit(1);
        }
        g_signal_connect(server, "new-connection", G_CALLBACK(on_connection), NULL);
        g_dbus_server_start(server);
        g_main_loop_run(g_main_loop_new(NULL, FALSE));
    }
}

static GDBusConnection *service;

static void connect_service(void)
{
    start_service();
    for (int i = 0; i < 500 && service == NULL; i++) {
        stall_pause_ms(10);
        service = g_dbus_connection_new_for_address_sync(bus_address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT,
                                                         NULL, NULL, NULL);
    }
    if (service == NULL) {
        abort();
    }
}

static STALL_FUNCTION void ask_service(int n)
{
    GVariant *answer = g_dbus_connection_call_sync(service, NULL, "/org/example", "org.example.Slow", "Ask", NULL, NULL,
                                                   G_DBUS_CALL_FLAGS_NONE, 5000, NULL, NULL);
    stall_sink += (uint64_t)(answer != NULL) + (uint64_t)n;
}

/* The same, but the slow part is the work with the reply. */
static STALL_FUNCTION void show_cover(GObject *source, GAsyncResult *result, gpointer unused)
{
    GVariant *answer = g_dbus_connection_call_finish(G_DBUS_CONNECTION(source), result, NULL);
    STALL_COMPUTE_MS(stall_ms);
    stall_sink += (uint64_t)(answer != NULL) + (uint64_t)(unused != NULL);
}

static STALL_FUNCTION void ask_for_cover(int n)
{
    g_dbus_connection_call(service, NULL, "/org/example", "org.example.Slow", "Ask", NULL, NULL, G_DBUS_CALL_FLAGS_NONE,
                           5000, NULL, show_cover, NULL);
    stall_sink += (uint64_t)n;
}

const struct stall stalls_glib[] = {
    {.name = "glib_mutex", .message = show_album},
    {.name = "glib_queue", .prepare = prepare_thumbnails, .message = await_thumbnail},
    {.name = "glib_sleep", .message = fade_out},
    {.name = "glib_dbus", .prepare = connect_service, .message = ask_service},
    {.name = "glib_dbus_reply", .prepare = connect_service, .message = ask_for_cover, .messages = 200},
    {.name = "glib_nested_sort", .message = play_nested},
    {.name = NULL},
};
