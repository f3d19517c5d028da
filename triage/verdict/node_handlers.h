/* SPDX-License-Identifier: Apache-2.0 */
/* node_handlers.h - which sort of handler node's event loop ran, by the functions of node's own scripts that call it. Pure. */
#ifndef SBX_NODE_HANDLERS_H
#define SBX_NODE_HANDLERS_H

#include "report.h"

/* "a timer (setTimeout, setInterval)"; NULL: this function calls no handlers. */
const char *sbx_node_handler_of(const struct sbx_location *location);

/* Does it call each handler once in its run, so that whatever that run queued was queued by the one handler that was seen in it? Not so a socket,
 * whose number stays the same. */
bool sbx_node_runs_once(const struct sbx_location *location);

#endif
