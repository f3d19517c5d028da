/* SPDX-License-Identifier: Apache-2.0 */
/* test_point_gdbus.c - calls over a real bus: which call the handled reply belongs to; the program sees no
 * difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gio/gio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture_settings.h"
#include "recorded_process.h"

#define OWN_PLACE __attribute__((noinline))

enum {
    MANY = 150 /* more than the recorder follows at a time */
};

/* ---- the bus: the parent's ---- */

static char address[512];
static pid_t bus;

static int start_bus(void **state)
{
    int ends[2];
    (void)state;
    if (pipe(ends) != 0) {
        return -1;
    }
    bus = fork();
    if (bus == 0) {
        char print[32];
        snprintf(print, sizeof print, "--print-address=%d", ends[1]);
        close(ends[0]);
        execl(DBUS_DAEMON, DBUS_DAEMON, "--session", "--nofork", "--nosyslog", "--nopidfile", print, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t bytes = 1; bytes > 0 && memchr(address, '\n', got) == NULL && got < sizeof address - 1;) {
        bytes = read(ends[0], address + got, sizeof address - 1 - got);
        got += bytes > 0 ? (size_t)bytes : 0;
    }
    close(ends[0]);
    address[strcspn(address, "\n")] = 0;
    return address[0] != 0 ? 0 : -1;
}

static int stop_bus(void **state)
{
    (void)state;
    kill(bus, SIGTERM);
    waitpid(bus, NULL, 0);
    return 0;
}

/* ---- the child: a service and who asks it, each with a connection, in one loop ---- */

static const char described[] =
    "<node><interface name='org.example.Store'><method name='Ask'><arg type='i' direction='in'/>"
    "<arg type='i' direction='out'/></method></interface></node>";
static GDBusConnection *client, *service;
static GMainLoop *loop;
static int answered, failed;
static bool keeps_silent;

OWN_PLACE static void handle_call(GDBusConnection *connection, const gchar *sender, const gchar *path,
                                  const gchar *interface, const gchar *method, GVariant *values,
                                  GDBusMethodInvocation *invocation, gpointer unused)
{
    gint32 number = 0;
    (void)connection, (void)sender, (void)path, (void)interface, (void)method, (void)unused;
    if (keeps_silent) {
        return;
    }
    child_pause_ms(3);
    g_variant_get(values, "(i)", &number);
    g_dbus_method_invocation_return_value(invocation, g_variant_new("(i)", number + 1));
}

static GDBusConnection *connect_to_bus(void)
{
    GError *error = NULL;
    GDBusConnection *connection = g_dbus_connection_new_for_address_sync(
        address, G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL,
        NULL, &error);
    child_expect(connection != NULL, "it is connected to the bus");
    return connection;
}

static void begin_service(void)
{
    static const GDBusInterfaceVTable calls = {.method_call = handle_call};
    GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(described, NULL);
    service = connect_to_bus();
    client = connect_to_bus();
    loop = g_main_loop_new(NULL, FALSE);
    child_expect(g_dbus_connection_register_object(service, "/store", node->interfaces[0], &calls, NULL, NULL, NULL) !=
                     0,
                 "an object is registered");
    g_dbus_node_info_unref(node);
}

static void end_service(void)
{
    g_main_loop_unref(loop);
    g_object_unref(client);
    g_object_unref(service);
}

/* ---- a call and its reply ---- */

OWN_PLACE static void on_answer(GObject *source, GAsyncResult *result, gpointer data)
{
    GError *error = NULL;
    gint32 number = 0;
    child_expect(source == G_OBJECT(client), "the source is the connection");
    child_expect(g_async_result_get_user_data(result) == data, "the data is the program's");
    GVariant *values = g_dbus_connection_call_finish(client, result, &error);
    if (values != NULL) {
        g_variant_get(values, "(i)", &number);
        child_expect(number == GPOINTER_TO_INT(data) + 1, "it is the answer to that call");
        g_variant_unref(values);
        answered++;
    } else {
        failed++;
        g_clear_error(&error);
    }
    child_pause_ms(3);
    g_main_loop_quit(loop);
}

static void ask(int number, GCancellable *cancellable, int timeout_ms, GAsyncReadyCallback callback)
{
    g_dbus_connection_call(client, g_dbus_connection_get_unique_name(service), "/store", "org.example.Store", "Ask",
                           g_variant_new("(i)", number), G_VARIANT_TYPE("(i)"), G_DBUS_CALL_FLAGS_NONE, timeout_ms,
                           cancellable, callback, GINT_TO_POINTER(number));
}

OWN_PLACE static void ask_here(void)
{
    ask(41, NULL, -1, on_answer);
    KEEP_FRAME();
}

static void child_asks(void)
{
    begin_service();
    ask_here();
    g_main_loop_run(loop);
    child_expect(answered == 1, "it is answered");
    end_service();
}

static const struct sbx_record *find_task(const struct sbx_snapshot *snapshot, uint8_t op, void *function)
{
    for (size_t i = 0; i < snapshot->record_count; i++) {
        const struct sbx_record *record = &snapshot->records[i];
        if (record->kind == SBX_RECORD_TASK && record->op == op &&
            (function == NULL || passes_through(snapshot, record, function))) {
            return record;
        }
    }
    return NULL;
}

static const struct sbx_record *hop_of(const struct sbx_snapshot *snapshot, const struct sbx_record *task)
{
    for (size_t i = 0; i < snapshot->record_count && task != NULL; i++) {
        if (snapshot->records[i].kind == SBX_RECORD_HOP && snapshot->records[i].wait == task->wait) {
            return &snapshot->records[i];
        }
    }
    return NULL;
}

static void test_the_reply_of_a_call_is_told_with_who_made_it(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_asks);
    const struct sbx_record *task = find_task(snapshot, SBX_OP_G_DBUS_CALL, (void *)ask_here);
    const struct sbx_record *hop = hop_of(snapshot, task);
    assert_non_null(task);
    assert_non_null(hop);
    assert_true(task->end_ns - task->begin_ns >= 3000000);
    assert_true(hop->end_ns - hop->begin_ns >= 3000000); /* the service took that long */
    assert_int_equal(hop->peer, tid_of_record(snapshot, task));
    /* The service's work was queued by GIO's thread, which received the message. */
    const struct sbx_record *served = find_task(snapshot, SBX_OP_G_SOURCE_ATTACH, NULL);
    assert_non_null(served);
    assert_non_null(hop_of(snapshot, served));
    assert_int_not_equal(hop_of(snapshot, served)->peer, tid_of_record(snapshot, served));
    sbx_snapshot_destroy(snapshot);
}

/* ---- proxies ---- */

static GDBusProxy *proxy;

static void on_proxy_answer(GObject *source, GAsyncResult *result, gpointer data)
{
    child_expect(source == G_OBJECT(proxy) && g_async_result_get_user_data(result) == data, "all is the program's");
    GVariant *values = g_dbus_proxy_call_finish(proxy, result, NULL);
    child_expect(values != NULL, "it is answered");
    g_variant_unref(values);
    child_pause_ms(3);
    g_main_loop_quit(loop);
}

OWN_PLACE static void ask_proxy_here(void)
{
    g_dbus_proxy_call(proxy, "Ask", g_variant_new("(i)", 7), G_DBUS_CALL_FLAGS_NONE, -1, NULL, on_proxy_answer, &loop);
    KEEP_FRAME();
}

static gpointer make_proxy(gpointer unused)
{
    (void)unused;
    GMainContext *context = g_main_context_new(); /* the service is in the main context, which runs meanwhile */
    g_main_context_push_thread_default(context);
    proxy = g_dbus_proxy_new_sync(
        client, G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES | G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS, NULL,
        g_dbus_connection_get_unique_name(service), "/store", "org.example.Store", NULL, NULL);
    g_main_context_pop_thread_default(context);
    g_main_context_unref(context);
    while (!g_main_loop_is_running(loop)) { /* a quit before the loop runs would be lost */
        child_pause_ms(1);
    }
    g_main_loop_quit(loop);
    return NULL;
}

static void child_asks_a_proxy(void)
{
    begin_service();
    GThread *thread = g_thread_new("proxy", make_proxy, NULL);
    g_main_loop_run(loop);
    g_thread_join(thread);
    child_expect(proxy != NULL, "a proxy");
    ask_proxy_here();
    g_main_loop_run(loop);
    g_object_unref(proxy);
    end_service();
}

static void test_the_reply_to_a_proxy_is_told_with_who_made_the_call(void **state)
{
    (void)state;
    struct sbx_snapshot *snapshot = run_recorded(child_asks_a_proxy);
    assert_non_null(find_task(snapshot, SBX_OP_G_DBUS_CALL, (void *)ask_proxy_here));
    sbx_snapshot_destroy(snapshot);
}

/* ---- nothing changes for the program ---- */

static void count_answer(GObject *source, GAsyncResult *result, gpointer data)
{
    GError *error = NULL;
    GVariant *values = g_dbus_connection_call_finish(G_DBUS_CONNECTION(source), result, &error);
    child_expect(g_async_result_get_user_data(result) == data, "the data is the program's");
    if (values != NULL) {
        g_variant_unref(values);
        answered++;
    } else {
        child_expect(g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED) ||
                         g_error_matches(error, G_IO_ERROR, G_IO_ERROR_TIMED_OUT),
                     "the error is its own");
        g_clear_error(&error);
        failed++;
    }
}

static void child_asks_in_many_ways(void)
{
    begin_service();
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < MANY; i++) {
            ask(i, NULL, 60000, count_answer);
        }
        while (answered < round * MANY) {
            g_main_context_iteration(NULL, TRUE);
        }
    }
    ask(1, NULL, -1, NULL); /* nobody waits for the answer */
    keeps_silent = true;
    GCancellable *cancellable = g_cancellable_new();
    for (int i = 0; i < 10; i++) {
        ask(i, cancellable, 60000, count_answer);
        ask(i, NULL, 1, count_answer);
    }
    g_cancellable_cancel(cancellable);
    while (failed < 20) {
        g_main_context_iteration(NULL, TRUE);
    }
    child_expect(answered == 2 * MANY && failed == 20, "each is called back once");
    g_object_unref(cancellable);
    end_service();
}

static void test_calls_beyond_those_that_are_followed_cancelled_and_late_ones_come_back_as_ever(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_asks_in_many_ways));
}

static void child_has_the_points_out_and_in(void)
{
    begin_service();
    ask_here();
    child_set_points(SBX_POINTS_ALL & ~SBX_POINT_BIT(SBX_GROUP_GLIB));
    g_main_loop_run(loop);
    ask_here();
    child_set_points(SBX_POINTS_ALL);
    g_main_loop_run(loop);
    child_expect(answered == 2, "both are answered");
    end_service();
}

static void test_calls_that_are_under_way_come_back_while_the_group_is_out(void **state)
{
    (void)state;
    sbx_snapshot_destroy(run_recorded(child_has_the_points_out_and_in));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reply_of_a_call_is_told_with_who_made_it),
        cmocka_unit_test(test_the_reply_to_a_proxy_is_told_with_who_made_the_call),
        cmocka_unit_test(test_calls_beyond_those_that_are_followed_cancelled_and_late_ones_come_back_as_ever),
        cmocka_unit_test(test_calls_that_are_under_way_come_back_while_the_group_is_out),
    };
    return cmocka_run_group_tests(tests, start_bus, stop_bus);
}
