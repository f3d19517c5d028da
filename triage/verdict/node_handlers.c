/* SPDX-License-Identifier: Apache-2.0 */
/* node_handlers.c - a table of functions of node 18 and 20. */
#include "node_handlers.h"

#include <string.h>

static const struct {
    const char *function, *file;
    const char *handler;
    bool runs_once;
} handlers[] = {
    {"listOnTimeout", "node:internal/timers", "a timer (setTimeout, setInterval)", true},
    {"processImmediate", "node:internal/timers", "an immediate (setImmediate)", true},
    {"processTicksAndRejections", "node:internal/process/task_queues", "a process.nextTick or a promise's job", true},
    {"parserOnIncoming", "node:_http_server", "an HTTP request", true},
    {"parserOnIncomingClient", "node:_http_client", "the answer to an HTTP request", true},
    {"onconnection", "node:net", "a new connection", false},
    {"onStreamRead", "node:internal/stream_base_commons", "data of a socket or a pipe", false},
    {"onMessage", "node:dgram", "a datagram", false},
    {"readFileAfterClose", "node:internal/fs/read/context", "a file that was read", true},
    {"readFileAfterClose", "node:internal/fs/read_file_context", "a file that was read", true}, /* in node 18 */
    {NULL, "node:internal/per_context/messageport", "a message of a worker", false}, /* function NULL: it has no name */
};

/* The row of the function; -1: it calls no handlers. */
static int row_of(const struct sbx_location *location)
{
    for (size_t i = 0; location->logical && location->file != NULL && i < sizeof handlers / sizeof *handlers; i++) {
        const char *function = handlers[i].function;
        if (strcmp(location->file, handlers[i].file) == 0 &&
            (function == NULL || strcmp(location->function, function) == 0)) {
            return (int)i;
        }
    }
    return -1;
}

bool sbx_node_runs_once(const struct sbx_location *location)
{
    int row = row_of(location);
    return row >= 0 && handlers[row].runs_once;
}

const char *sbx_node_handler_of(const struct sbx_location *location)
{
    if (!location->logical && location->named &&
        strstr(location->function, "v8::internal::MicrotaskQueue::RunMicrotasks") != NULL) {
        return "a promise's job";
    }
    int row = row_of(location);
    return row >= 0 ? handlers[row].handler : NULL;
}
