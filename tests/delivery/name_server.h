/* SPDX-License-Identifier: Apache-2.0 */
/* name_server.h - a DNS server on 127.0.0.1:53 of a network namespace of its own. Its answer depends on the name:
 *
 *   no.test        the name does not exist (NXDOMAIN)
 *   broken.test    the server has failed (SERVFAIL)
 *   silent.test    no answer
 *   late.test      127.0.0.1, after 1 s
 *   many.test      1,000 addresses: 127.0.0.1 last, the others' ports are closed
 *   hole.test      an IPv6 address that cannot be reached, and 127.0.0.1
 *   noise.test     bytes that are no valid answer */
#ifndef SBX_TEST_NAME_SERVER_H
#define SBX_TEST_NAME_SERVER_H

#include <stdbool.h>

/* Enter a network and a mount namespace whose resolver asks this server, and start the server. It affects the whole
 * process permanently, and must be called before there are threads. False if it is not allowed. */
bool sbx_name_server_enter(void);

#endif
