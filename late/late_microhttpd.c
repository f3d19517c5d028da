/* SPDX-License-Identifier: Apache-2.0 */
/* late_microhttpd.c - the functions of libmicrohttpd that are called here (README.md). A daemon is started before any
 * other call, so only that function checks whether the library is there. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>

#include <microhttpd.h>

#include "late_library.h"

static struct {
    __typeof__(&MHD_start_daemon_va) start_daemon_va;
    __typeof__(&MHD_stop_daemon) stop_daemon;
    __typeof__(&MHD_create_response_from_buffer) create_response_from_buffer;
    __typeof__(&MHD_add_response_header) add_response_header;
    __typeof__(&MHD_queue_response) queue_response;
    __typeof__(&MHD_destroy_response) destroy_response;
    __typeof__(&MHD_suspend_connection) suspend_connection;
    __typeof__(&MHD_resume_connection) resume_connection;
    __typeof__(&MHD_get_connection_info) get_connection_info;
    __typeof__(&MHD_set_connection_option) set_connection_option;
    __typeof__(&MHD_get_connection_values_n) get_connection_values_n;
    __typeof__(&MHD_lookup_connection_value) lookup_connection_value;
} real;
static bool is_here;

static void load(void)
{
    const struct sbx_late_function functions[] = {
        {"MHD_start_daemon_va", &real.start_daemon_va},
        {"MHD_stop_daemon", &real.stop_daemon},
        {"MHD_create_response_from_buffer", &real.create_response_from_buffer},
        {"MHD_add_response_header", &real.add_response_header},
        {"MHD_queue_response", &real.queue_response},
        {"MHD_destroy_response", &real.destroy_response},
        {"MHD_suspend_connection", &real.suspend_connection},
        {"MHD_resume_connection", &real.resume_connection},
        {"MHD_get_connection_info", &real.get_connection_info},
        {"MHD_set_connection_option", &real.set_connection_option},
        {"MHD_get_connection_values_n", &real.get_connection_values_n},
        {"MHD_lookup_connection_value", &real.lookup_connection_value},
    };
    is_here = sbx_late_library_load(LATE_SONAME, functions, sizeof functions / sizeof functions[0]);
}

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept_policy,
                                    void *accept_context, MHD_AccessHandlerCallback handler, void *handler_context, ...)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct MHD_Daemon *daemon = NULL;
    va_list options;
    pthread_once(&once, load);
    va_start(options, handler_context);
    if (is_here) {
        daemon = real.start_daemon_va(flags, port, accept_policy, accept_context, handler, handler_context, options);
    } else {
        errno = ELIBACC;
    }
    va_end(options);
    return daemon;
}

void MHD_stop_daemon(struct MHD_Daemon *daemon)
{
    if (daemon != NULL) {
        real.stop_daemon(daemon);
    }
}

struct MHD_Response *MHD_create_response_from_buffer(size_t size, void *buffer, enum MHD_ResponseMemoryMode mode)
{
    return real.create_response_from_buffer(size, buffer, mode);
}

enum MHD_Result MHD_add_response_header(struct MHD_Response *response, const char *name, const char *content)
{
    return real.add_response_header(response, name, content);
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response)
{
    return real.queue_response(connection, status, response);
}

void MHD_destroy_response(struct MHD_Response *response)
{
    if (response != NULL) {
        real.destroy_response(response);
    }
}

void MHD_suspend_connection(struct MHD_Connection *connection)
{
    real.suspend_connection(connection);
}

void MHD_resume_connection(struct MHD_Connection *connection)
{
    real.resume_connection(connection);
}

/* No kind of information takes further arguments. */
const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType kind, ...)
{
    return real.get_connection_info(connection, kind);
}

/* There is one option, and its value is of this type. */
enum MHD_Result MHD_set_connection_option(struct MHD_Connection *connection, enum MHD_CONNECTION_OPTION option, ...)
{
    va_list arguments;
    va_start(arguments, option);
    unsigned value = va_arg(arguments, unsigned);
    va_end(arguments);
    return real.set_connection_option(connection, option, value);
}

int MHD_get_connection_values_n(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                MHD_KeyValueIteratorN iterator, void *context)
{
    return real.get_connection_values_n(connection, kind, iterator, context);
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *key)
{
    return real.lookup_connection_value(connection, kind, key);
}
