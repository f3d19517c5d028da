/* SPDX-License-Identifier: Apache-2.0 */
/* relay.h - stands before a real server and loses its answers: requests arrive, answers do not. */
#ifndef SBX_TEST_RELAY_H
#define SBX_TEST_RELAY_H

#include <stdint.h>

struct sbx_relay;

/* Listen on a free port of 127.0.0.1 and pass connections on to `port`. The answers of the first `lost` connections are
 * read and dropped, and the connection is reset. Ends the program on failure. */
struct sbx_relay *sbx_relay_start(uint16_t port, unsigned lost);
uint16_t sbx_relay_port(const struct sbx_relay *relay);
void sbx_relay_stop(struct sbx_relay *relay);

#endif
