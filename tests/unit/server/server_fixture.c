/* SPDX-License-Identifier: Apache-2.0 */
/* server_fixture.c - starts a server, posts payloads, waits for them. */
#include "server_fixture.h"

#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "envelope_format.h"
#include "snapshot_id.h"
#include "sql_postgres.h"
#include "unseal.h"

static void die(const char *what)
{
    fprintf(stderr, "fixture: %s\n", what);
    abort();
}

void sleep_ms(unsigned ms)
{
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000l};
    nanosleep(&pause, NULL);
}

static void clear_database(const char *url)
{
    struct sbx_sql *sql;
    char why[300] = "";
    if (sbx_sql_open_postgres(url, "SET client_min_messages = error; DROP SCHEMA IF EXISTS stallbox CASCADE", &sql, why,
                              sizeof(why)) < 0)
        die(why);
    sbx_sql_close(sql);
}

/* In memory if there is room: a test server's durable writes need not reach a disk, which took a fifth of the CPU
 * time. */
static const char *folder_of_data(void)
{
    const uint64_t room = (uint64_t)4 << 30;
    struct statvfs status;
    bool has_room = access("/dev/shm", W_OK) == 0 && statvfs("/dev/shm", &status) == 0 &&
                    (uint64_t)status.f_bavail * status.f_frsize >= room;
    return has_room ? "/dev/shm" : "/tmp";
}

void fixture_init(struct server_fixture *fixture)
{
    signal(SIGPIPE, SIG_IGN);
    *fixture = (struct server_fixture){0};
    snprintf(fixture->data_dir, sizeof(fixture->data_dir), "%s/sbx_server_test.XXXXXX", folder_of_data());
    if (!mkdtemp(fixture->data_dir))
        die("mkdtemp");
    fixture->options.data_dir = fixture->data_dir;
    fixture->options.listen = "127.0.0.1:0";
    fixture->options.skips_local_files = true; /* not of these builds; they took half of a test's time */
    fixture->options.database = getenv("STALLBOX_TEST_DATABASE"); /* set by tests/integration/database */
    if (fixture->options.database)
        clear_database(fixture->options.database);
}

void fixture_start(struct server_fixture *fixture)
{
    char why[300] = "";
    if (sbx_server_start(&fixture->options, &fixture->server, why, sizeof(why)) != 0)
        die(why);
    fixture->port = sbx_server_port(fixture->server);
}

void fixture_stop(struct server_fixture *fixture)
{
    sbx_server_stop(fixture->server);
    fixture->server = NULL;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status, (void)kind, (void)where;
    return remove(path);
}

void fixture_finish(struct server_fixture *fixture)
{
    fixture_stop(fixture);
    nftw(fixture->data_dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

enum {
    BUSY_MS = 60000 /* for tests with a running server */
};

void fixture_run_sql(const struct server_fixture *fixture, const char *sql)
{
    char path[128], why[300] = "";
    sqlite3 *db;
    struct sbx_sql *sql_there;
    if (fixture->options.database) {
        if (sbx_sql_open_postgres(fixture->options.database, "SET search_path = stallbox", &sql_there, why,
                                  sizeof(why)) < 0 ||
            sbx_sql_execute(sql_there, sql) < 0)
            die(sql);
        sbx_sql_close(sql_there);
        return;
    }
    snprintf(path, sizeof(path), "%s/store.db", fixture->data_dir);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(db, BUSY_MS) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
    sqlite3_close(db);
}

long fixture_count(const struct server_fixture *fixture, const char *sql)
{
    char path[128];
    sqlite3 *db;
    sqlite3_stmt *statement;
    snprintf(path, sizeof(path), "%s/store.db", fixture->data_dir);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK || sqlite3_step(statement) != SQLITE_ROW)
        die(sqlite3_errmsg(db));
    long count = (long)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return count;
}

void fixture_grow_old(const struct server_fixture *fixture, unsigned days)
{
    char sql[300];
    snprintf(sql, sizeof(sql),
             "UPDATE snapshot SET received_ms = received_ms - %u * 86400000;"
             "UPDATE sealed SET received_ms = received_ms - %u * 86400000;"
             "UPDATE erased SET at_ms = at_ms - %u * 86400000;",
             days, days, days);
    fixture_run_sql(fixture, sql);
}

static void read_id(struct envelope *envelope)
{
    if (envelope->count < SBX_ENVELOPE_HEADER_BYTES)
        die("an envelope is too short");
    sbx_id_print(envelope->bytes + 16, envelope->id);
}

struct envelope envelope_of(enum sbx_scenario scenario, uint64_t seed)
{
    struct envelope envelope;
    if (!sbx_scenario_envelope(scenario, false, seed, &envelope.bytes, &envelope.count))
        die("no scenario");
    read_id(&envelope);
    return envelope;
}

struct envelope envelope_of_builder(struct sbx_payload_builder *builder)
{
    struct envelope envelope;
    sbx_builder_envelope(builder, &envelope.bytes, &envelope.count);
    sbx_payload_builder_destroy(builder);
    read_id(&envelope);
    return envelope;
}

struct envelope envelope_of_machine(enum sbx_scenario scenario, uint64_t seed, uint8_t machine)
{
    struct sbx_payload_builder *builder;
    uint8_t proof[SBX_ERASURE_PROOF_BYTES];
    static uint8_t ids[256][SBX_ROTATING_ID_BYTES]; /* the builder borrows them */
    memset(proof, machine, sizeof(proof));
    if (sbx_rotating_id_of_proof(proof, ids[machine]) != 0 || !sbx_scenario_build(scenario, false, seed, &builder))
        die("no scenario");
    sbx_builder_payload(builder)->rotating_id =
        (ProtobufCBinaryData){.len = SBX_ROTATING_ID_BYTES, .data = ids[machine]};
    return envelope_of_builder(builder);
}

void envelope_finish(struct envelope *envelope)
{
    free(envelope->bytes);
}

void post_stored(uint16_t port, const struct envelope *envelope)
{
    char wanted[80];
    struct answer answer = post(port, envelope->bytes, envelope->count);
    snprintf(wanted, sizeof(wanted), SBX_STORED_PREFIX "%s\n", envelope->id);
    if (answer.status != 200 || answer.body.used != strlen(wanted) ||
        memcmp(answer.body.data, wanted, strlen(wanted)) != 0) {
        fprintf(stderr, "status %ld: %s\n", answer.status, answer.body.data ? answer.body.data : "");
        die("a payload was not stored");
    }
    answer_finish(&answer);
}

int wait_for_triage(uint16_t port, const char *id)
{
    char path[80];
    snprintf(path, sizeof(path), "/v1/snapshots/%s", id);
    /* A request costs much compared with the triage that it waits for. So each pause is half of the time that has been
     * waited already. */
    for (unsigned waited_ms = 0, pause_ms = 0; waited_ms < 60000; waited_ms += pause_ms) {
        struct answer answer = get(port, path);
        int is_triaged = answer_has(&answer, "\"state\":\"triaged\"");
        int has_failed = answer_has(&answer, "\"state\":\"failed\"");
        answer_finish(&answer);
        if (is_triaged || has_failed)
            return is_triaged;
        pause_ms = waited_ms < 10 ? 5 : waited_ms < 200 ? waited_ms / 2 : 100;
        sleep_ms(pause_ms);
    }
    die("triage did not end within a minute");
    return 0;
}

double metric(uint16_t port, const char *name)
{
    struct answer answer = get(port, "/metrics");
    double value = -1;
    size_t bytes = strlen(name);
    for (const char *line = answer.body.data; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, bytes) == 0 && line[bytes] == ' ')
            value = strtod(line + bytes + 1, NULL);
    answer_finish(&answer);
    return value;
}
