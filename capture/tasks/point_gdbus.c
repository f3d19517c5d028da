/* SPDX-License-Identifier: Apache-2.0 */
/* point_gdbus.c - calls over D-Bus by GIO: from the thread that made the call to the callback that runs with its reply.
 *
 * GIO calls that callback once, in the context in which the call was made, also when the call was cancelled, timed out
 * or failed. So a function of the agent is given to GIO in place of the callback. There is a fixed number of such
 * functions, and each serves one call at a time. It finds the program's callback by its own number and passes on all
 * its arguments, including `user_data`, which g_async_result_get_user_data() returns. Calls beyond that number are
 * passed on unchanged and are not followed, and neither are calls without a callback. GIO never shows the callback to
 * the program. */
#include "point.h"
#include "task.h"

enum {
    CALLS = 64
};

typedef void ready_function(void *source, void *result, void *user_data);

static struct dbus_call {
    ready_function *callback; /* NULL: free */
    uint64_t task;
} dbus_calls[CALLS]; /* a forked child keeps it: its copies of the calls use these functions */

static void answer(uint32_t number, void *source, void *result, void *user_data)
{
    struct dbus_call *call = &dbus_calls[number];
    ready_function *callback =
        sbx_load_acquire(&call->callback); /* order: acquire dbus_call.callback - its task is there */
    uint64_t task = sbx_load_relaxed(&call->task);
    sbx_store_release(&call->callback, NULL); /* order: release dbus_call.callback - the callback may call again */
    sbx_task_begin(task);
    callback(source, result, user_data);
    sbx_task_end(task);
}

/* clang-format off */
#define SERVERS(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) \
    X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)
/* clang-format on */
#define SERVER(n)                                                       \
    static void answer_##n(void *source, void *result, void *user_data) \
    {                                                                   \
        answer(n, source, result, user_data);                           \
    }
SERVERS(SERVER)
#define SERVER_NAME(n) answer_##n,
static ready_function *const answers[] = {SERVERS(SERVER_NAME)};
static_assert(SBX_COUNT_OF(answers) == CALLS, "a function for each call");

/* The function to give to GIO in place of the program's. */
SBX_NOINLINE static ready_function *answer_for(ready_function *callback)
{
    if (callback == NULL || !sbx_capture_is_open()) {
        return callback;
    }
    for (uint32_t i = 0; i < CALLS; i++) {
        ready_function *nobody = NULL;
        /* order: acq_rel dbus_call.callback - the last user is done with it; nothing calls the agent's function before
         * the call is made */
        if (sbx_load_relaxed(&dbus_calls[i].callback) == NULL &&
            sbx_cas_acq_rel(&dbus_calls[i].callback, &nobody, callback)) {
            /* Also when the call is not followed, so that the task of the call before is not used again. */
            sbx_store_relaxed(&dbus_calls[i].task, sbx_task_queued(SBX_GROUP_GLIB, SBX_OP_G_DBUS_CALL, 0, 0, 0));
            return answers[i];
        }
    }
    return callback;
}

#define CALLS_BACK(name, parameters, arguments)      \
    static void(*real_##name) parameters;            \
    static void hook_##name parameters               \
    {                                                \
        ready_function *ours = answer_for(callback); \
        real_##name arguments;                       \
    }

CALLS_BACK(g_dbus_connection_call,
           (void *connection, const char *bus_name, const char *path, const char *interface, const char *method,
            void *values, const void *reply_type, int flags, int timeout_ms, void *cancellable,
            ready_function *callback, void *user_data),
           (connection, bus_name, path, interface, method, values, reply_type, flags, timeout_ms, cancellable, ours,
            user_data))
CALLS_BACK(g_dbus_connection_call_with_unix_fd_list,
           (void *connection, const char *bus_name, const char *path, const char *interface, const char *method,
            void *values, const void *reply_type, int flags, int timeout_ms, void *fds, void *cancellable,
            ready_function *callback, void *user_data),
           (connection, bus_name, path, interface, method, values, reply_type, flags, timeout_ms, fds, cancellable,
            ours, user_data))
CALLS_BACK(g_dbus_connection_send_message_with_reply,
           (void *connection, void *message, int flags, int timeout_ms, volatile uint32_t *serial_out,
            void *cancellable, ready_function *callback, void *user_data),
           (connection, message, flags, timeout_ms, serial_out, cancellable, ours, user_data))
CALLS_BACK(g_dbus_proxy_call,
           (void *proxy, const char *method, void *values, int flags, int timeout_ms, void *cancellable,
            ready_function *callback, void *user_data),
           (proxy, method, values, flags, timeout_ms, cancellable, ours, user_data))
CALLS_BACK(g_dbus_proxy_call_with_unix_fd_list,
           (void *proxy, const char *method, void *values, int flags, int timeout_ms, void *fds, void *cancellable,
            ready_function *callback, void *user_data),
           (proxy, method, values, flags, timeout_ms, fds, cancellable, ours, user_data))

#define POINT(name) SBX_POINT(#name, hook_##name, real_##name, SBX_GROUP_GLIB)
static const struct sbx_point points[] = {
    POINT(g_dbus_connection_call),
    POINT(g_dbus_connection_call_with_unix_fd_list),
    POINT(g_dbus_connection_send_message_with_reply),
    POINT(g_dbus_proxy_call),
    POINT(g_dbus_proxy_call_with_unix_fd_list),
};
const struct sbx_point_list sbx_points_gdbus = SBX_POINT_LIST(points);
