/* SPDX-License-Identifier: Apache-2.0 */
/* node_handlers.h - which sort of handler node's event loop ran, by the functions of node's own scripts that call
 * handlers. Pure. */
#ifndef SBX_NODE_HANDLERS_H
#define SBX_NODE_HANDLERS_H

#include "report.h"

/* "a timer (setTimeout, setInterval)"; NULL: this function calls no handlers. */
const char *sbx_node_handler_of(const struct sbx_location *location);

/* Does this function call one handler only in each run, where a run has an async id of its own? Then the handler that
 * was seen in a run queued everything that was queued in that run. This is false for a socket, whose async id stays the
 * same. */
bool sbx_node_runs_once(const struct sbx_location *location);

#endif
