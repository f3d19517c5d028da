/* SPDX-License-Identifier: Apache-2.0 */
/* test_clients.h - clients of a server under test, in a thread of the same process, over the loopback interface. */
#ifndef SBX_TEST_CLIENTS_H
#define SBX_TEST_CLIENTS_H

#include <sys/socket.h>

/* A listening socket on a port of its own, which the clients below connect to. Ends the child when there is none. */
int child_listen(void);

/* A thread waits for `pause_ms`, connects, sends a byte and waits for another, or for the end; so `count` times. With
 * `is_one_connection` it connects once, and pauses before each byte; 2: and once more before it takes an answer; 3: and
 * takes one answer to all of them. */
void child_ask_later(int count, long pause_ms, int is_one_connection);

/* Wait for the threads that child_ask_later() has begun. */
void child_await_clients(void);

#endif
