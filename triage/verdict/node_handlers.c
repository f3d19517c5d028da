/* SPDX-License-Identifier: Apache-2.0 */
/* node_handlers.c - a table of functions of node 18 and 20. */
#include "node_handlers.h"

#include <string.h>

static const struct {
    const char *function, *file;
    const char *handler;
} handlers[] = {
    {"listOnTimeout", "node:internal/timers", "a timer (setTimeout, setInterval)"},
    {"processImmediate", "node:internal/timers", "an immediate (setImmediate)"},
    {"processTicksAndRejections", "node:internal/process/task_queues", "a process.nextTick or a promise's job"},
    {"parserOnIncoming", "node:_http_server", "an HTTP request"},
    {"parserOnIncomingClient", "node:_http_client", "the answer to an HTTP request"},
    {"onconnection", "node:net", "a new connection"},
    {"onStreamRead", "node:internal/stream_base_commons", "data of a socket or a pipe"},
    {"onMessage", "node:dgram", "a datagram"},
    {"readFileAfterClose", "node:internal/fs/read/context", "a file that was read"},
    {"readFileAfterClose", "node:internal/fs/read_file_context", "a file that was read"}, /* in 18 */
    {NULL, "node:internal/per_context/messageport", "a message of a worker"}, /* a function without a name */
};

const char *sbx_node_handler_of(const struct sbx_location *location)
{
    if (!location->logical && location->named &&
        strstr(location->function, "v8::internal::MicrotaskQueue::RunMicrotasks") != NULL) {
        return "a promise's job";
    }
    for (size_t i = 0; location->logical && location->file != NULL && i < sizeof handlers / sizeof *handlers; i++) {
        const char *function = handlers[i].function;
        if (strcmp(location->file, handlers[i].file) == 0 &&
            (function == NULL || strcmp(location->function, function) == 0)) {
            return handlers[i].handler;
        }
    }
    return NULL;
}
