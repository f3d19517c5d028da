/* SPDX-License-Identifier: Apache-2.0 */
/* test_clients.h - clients of a server under test, in a thread of the same process, over the loopback interface. */
#ifndef SBX_TEST_CLIENTS_H
#define SBX_TEST_CLIENTS_H

#include <sys/socket.h>

/* A listening socket on a port of its own, to which the clients below connect. Ends the child when there is none. */
int child_listen(void);

/* A thread pauses for `pause_ms`, connects, sends a byte and waits for a byte or for the end of the connection. It does
 * this `count` times. `is_one_connection`: 0: a connection each time; 1: one connection, and a pause before each byte;
 * 2: also a pause before it reads each answer; 3: one answer for all bytes together. */
void child_ask_later(int count, long pause_ms, int is_one_connection);

/* Wait for the threads that child_ask_later() has started. */
void child_await_clients(void);

#endif
