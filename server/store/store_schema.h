/* SPDX-License-Identifier: Apache-2.0 */
/* store_schema.h - the tables of a store and the statements that write to them. */
#ifndef SBX_STORE_SCHEMA_H
#define SBX_STORE_SCHEMA_H

#include "store_inside.h"

/* Statements for a new connection; the writer's also make missing tables. */
extern const char sbx_store_writer_setup[], sbx_store_reader_setup[];
extern const char *const sbx_store_writer_sql[WRITER_STATEMENTS];

/* Set the version of a new file, and bring older tables to this version. Before any other connection is opened. Returns
 * 0; -EPROTO: a newer server made the file; -EIO. */
int sbx_store_renew_schema(struct sbx_store *store, char *why, size_t why_bytes);
/* The same in PostgreSQL, and the statements that begin each connection. */
int sbx_store_renew_schema_postgres(const char *url, char *why, size_t why_bytes);
extern const char sbx_store_postgres_setup[], sbx_store_postgres_writer_setup[];
/* The server's clock in milliseconds, and the end of the time for which a payload taken now belongs to its server. */
#define SBX_POSTGRES_NOW   "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
#define SBX_POSTGRES_LEASE "(" SBX_POSTGRES_NOW " + 30000)"

/* The rows by which a stall is summed: for its place and its application, on its day and on all days. `since`: limits
 * the days that have sums. */
#define SBX_SUMMED_COLUMNS ", build, machine, bucket, weight, one_in FROM snapshot WHERE place IS NOT NULL"
#define SBX_SUMMED_SINCE(since)                                                                                        \
    "SELECT seq, place, day" SBX_SUMMED_COLUMNS since " UNION ALL SELECT seq, place, -1" SBX_SUMMED_COLUMNS            \
    " UNION ALL SELECT seq, whole, day" SBX_SUMMED_COLUMNS since " UNION ALL SELECT seq, whole, -1" SBX_SUMMED_COLUMNS \
    ";"
#define SBX_SUMMED SBX_SUMMED_SINCE("")

/* Tables of the writer's connection: the stalls of a batch to remove, the rows by which they are summed, and their
 * groups (store_leaving.c). is_last: the group has no other stalls. */
#define SBX_LEAVING_TABLE                                                                                          \
    "leaving(place bigint, day bigint, build bigint, hits bigint, weight bigint, variance bigint, is_last bigint," \
    " PRIMARY KEY(place, day, build))"
#define SBX_GOING_TABLE(bytes)                                                                                 \
    "going(seq bigint PRIMARY KEY, id " bytes ", place bigint, whole bigint, day bigint, build bigint, bucket" \
    " bigint, weight bigint, variance bigint, process bigint, machine bigint, has_id bigint)"
#define SBX_GOING_SUMMED_COLUMNS ", build, machine, bucket, weight, variance FROM going WHERE place IS NOT NULL"
#define SBX_GOING_SUMMED_SINCE(since)                                       \
    "going_summed AS SELECT seq, place, day" SBX_GOING_SUMMED_COLUMNS since \
    " UNION ALL SELECT seq, place, -1" SBX_GOING_SUMMED_COLUMNS             \
    " UNION ALL SELECT seq, whole, day" SBX_GOING_SUMMED_COLUMNS since      \
    " UNION ALL SELECT seq, whole, -1" SBX_GOING_SUMMED_COLUMNS ";"
#define SBX_GOING_SUMMED SBX_GOING_SUMMED_SINCE("")
#define SBX_GOING_TABLES                                                                                              \
    "CREATE TEMP TABLE IF NOT EXISTS " SBX_GOING_TABLE("blob") "; CREATE TEMP TABLE IF NOT EXISTS " SBX_LEAVING_TABLE \
                                                               "; CREATE TEMP VIEW IF NOT EXISTS " SBX_GOING_SUMMED

/* Make the sums that older servers did not have from those they had: day -1 of each place, and whole applications. app,
 * snapshot.whole and fact.machine_days exist and are empty, and no trigger counts. For both engines. */
/* A machine or process, as stores had it then. */
#define SBX_MACHINE "COALESCE((SELECT r.id FROM rotating r WHERE r.seq = s.seq), s.session)"
#define SBX_SUM_WHOLES                                                                                                 \
    "INSERT INTO app(tenant, name) SELECT DISTINCT COALESCE(tenant, 0), COALESCE(app, '') FROM snapshot WHERE place "  \
    "IS"                                                                                                               \
    " NOT NULL;"                                                                                                       \
    "UPDATE snapshot SET whole = (SELECT -a.num FROM app a WHERE a.tenant = COALESCE(snapshot.tenant, 0) AND a.name =" \
    " COALESCE(snapshot.app, '')) WHERE place IS NOT NULL;"                                                            \
    "INSERT INTO fact(place, day, build, hits, weight, variance) SELECT s.whole, s.day, s.build, COUNT(*),"            \
    " SUM(s.weight), SUM(s.one_in * (s.one_in - 1)) FROM snapshot s WHERE s.place IS NOT NULL GROUP BY 1, 2, 3;"       \
    "INSERT INTO fact(place, day, build, hits, weight, variance) SELECT place, -1, build, SUM(hits), SUM(weight),"     \
    " SUM(variance) FROM fact GROUP BY place, build;"                                                                  \
    "INSERT INTO spread(place, day, build, bucket, weight) SELECT s.whole, s.day, s.build, s.bucket, SUM(s.weight)"    \
    " FROM snapshot s WHERE s.place IS NOT NULL AND s.bucket IS NOT NULL GROUP BY 1, 2, 3, 4;"                         \
    "INSERT INTO spread(place, day, build, bucket, weight) SELECT place, -1, build, bucket, SUM(weight) FROM spread"   \
    " GROUP BY place, build, bucket;"                                                                                  \
    "INSERT INTO label(place, kind, word, day, build, hits, weight, us) SELECT s.whole, d.kind, d.word, s.day,"        \
    " s.build, COUNT(*), SUM(s.weight), SUM(s.weight * d.us) FROM snapshot s JOIN said d ON d.seq = s.seq WHERE"       \
    " s.place IS NOT NULL GROUP BY 1, 2, 3, 4, 5;"                                                                     \
    "INSERT INTO label(place, kind, word, day, build, hits, weight, us) SELECT place, kind, word, -1, build,"          \
    " SUM(hits), SUM(weight), SUM(us) FROM label GROUP BY place, kind, word, build;"                                   \
    "INSERT INTO met(kind, of, who, count) SELECT 1, s.whole, " SBX_MACHINE ", COUNT(*) FROM snapshot s WHERE s.place" \
    " IS NOT NULL GROUP BY 2, 3;"                                                                                      \
    "INSERT INTO met_day(place, day, build, who, count) SELECT s.whole, s.day, s.build, " SBX_MACHINE ", COUNT(*)"     \
    " FROM snapshot s WHERE s.place IS NOT NULL GROUP BY 1, 2, 3, 4;"                                                  \
    "INSERT INTO met_day(place, day, build, who, count) SELECT place, -1, build, who, SUM(count) FROM met_day GROUP"   \
    " BY place, build, who;"                                                                                           \
    "UPDATE fact SET machines = (SELECT COUNT(*) FROM met_day m WHERE m.place = fact.place AND m.day = fact.day AND"   \
    " m.build = fact.build);"                                                                                          \
    "UPDATE fact SET machine_days = machines WHERE day >= 0;"                                                          \
    "UPDATE fact SET machine_days = (SELECT SUM(f.machines) FROM fact f WHERE f.place = fact.place AND f.day >= 0"     \
    " AND f.build = fact.build) WHERE day < 0;"                                                                        \
    "UPDATE app SET machines = (SELECT COUNT(*) FROM met m WHERE m.kind = 1 AND m.of = -app.num);"

/* A version as a number that is greater for a later version: "1.2.3", or fewer parts. 0 when the text is not a
 * version. */
int64_t sbx_version_rank(const char *version);

#endif
