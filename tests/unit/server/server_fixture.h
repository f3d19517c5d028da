/* SPDX-License-Identifier: Apache-2.0 */
/* server_fixture.h - a real server in a folder of its own, and payloads to post. Test code: aborts on failure. */
#ifndef SBX_TEST_SERVER_FIXTURE_H
#define SBX_TEST_SERVER_FIXTURE_H

#include "http_client.h"
#include "payload_builder.h"
#include "server.h"

struct server_fixture {
    char data_dir[64];
    struct sbx_server_options options; /* with data_dir and a loopback address; a test may change it before the start */
    struct sbx_server *server;
    uint16_t port;
};

void fixture_init(struct server_fixture *fixture);
void fixture_start(struct server_fixture *fixture);
void fixture_stop(struct server_fixture *fixture);
void fixture_finish(struct server_fixture *fixture); /* stops the server and removes the folder */

struct envelope {
    uint8_t *bytes;
    size_t count;
    char id[33]; /* the id in the header of the envelope */
};

/* A complete stall with made-up symbols. */
struct envelope envelope_of(enum sbx_scenario scenario, uint64_t seed);
/* The same for the machine whose proof (proto/erasure_format.h) is 32 times the byte `machine`. */
struct envelope envelope_of_machine(enum sbx_scenario scenario, uint64_t seed, uint8_t machine);
struct envelope envelope_of_builder(struct sbx_payload_builder *builder); /* takes the builder */
void envelope_finish(struct envelope *envelope);

/* Post it and expect that it is stored. */
void post_stored(uint16_t port, const struct envelope *envelope);

/* Wait until its triage has ended; returns 1 when it is "triaged", 0 when it "failed". */
int wait_for_triage(uint16_t port, const char *id);

/* The number in the line of /metrics that begins with `name` and a space; -1 when there is no such line. */
double metric(uint16_t port, const char *name);

/* Run SQL statements in the server's store. */
void fixture_run_sql(const struct server_fixture *fixture, const char *sql);

/* The number that a query of the store returns. */
long fixture_count(const struct server_fixture *fixture, const char *sql);

/* Change the stopped server's store as if everything had arrived `days` days earlier. */
void fixture_grow_old(const struct server_fixture *fixture, unsigned days);

void sleep_ms(unsigned ms);

#endif
