/* SPDX-License-Identifier: Apache-2.0 */
/* started_server.h - the single server of a test program: cmocka's set-ups and tear-down, one server for each test. */
#ifndef SBX_TEST_STARTED_SERVER_H
#define SBX_TEST_STARTED_SERVER_H

#include "server_fixture.h"

extern struct server_fixture fixture; /* of the current test */

/* A folder and options. The test starts the server if it needs one. */
int prepare_server(void **state);

/* The same, and the server is started. The test's initial state, if it has one, is the token. */
int start_server(void **state);

/* Stop it, and remove the folder. */
int remove_server(void **state);

/* Wait until the line `name` of /metrics has `value`; the test fails when it does not within 20 s. */
void expect_metric(const char *name, double value);

#endif
