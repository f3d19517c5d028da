/* SPDX-License-Identifier: Apache-2.0 */
/* store_sum_sql.h - the SQL that adds a stall to the sums: for the statements of the writer, and for the steps from
 * older stores. */
#ifndef SBX_STORE_SUM_SQL_H
#define SBX_STORE_SUM_SQL_H

/* ---- one stall among the sums, or all of them: `sign` is 1 or -1 ---- */

#define SUM_FACT(from, sign, condition)                                                                           \
    "INSERT INTO fact(place, day, build, hits, weight, variance) SELECT s.place, s.day, s.build, " sign ", " sign \
    " * s.weight, " sign " * s.one_in * (s.one_in - 1) FROM " from " s WHERE " condition                          \
    " AND s.place IS NOT NULL ON CONFLICT(place, day, build) DO UPDATE SET hits = hits + excluded.hits,"          \
    " weight = weight + excluded.weight, variance = variance + excluded.variance"
#define SUM_SPREAD(from, sign, condition)                                                                          \
    "INSERT INTO spread(place, day, build, bucket, weight) SELECT s.place, s.day, s.build, s.bucket, " sign        \
    " * s.weight FROM " from " s WHERE " condition " AND s.place IS NOT NULL AND s.bucket IS NOT NULL ON CONFLICT" \
    "(place, day, build, bucket) DO UPDATE SET weight = weight + excluded.weight"
#define SUM_LABEL(from, sign, condition)                                                                         \
    "INSERT INTO label(place, kind, word, day, build, hits, weight, us) SELECT s.place, d.kind, d.word, s.day,"  \
    " s.build, " sign ", " sign " * s.weight, " sign " * s.weight * d.us FROM " from " s JOIN said d ON d.seq =" \
    " s.seq WHERE " condition " AND s.place IS NOT NULL ON CONFLICT(place, day, build, kind, word) DO UPDATE"    \
    " SET hits = hits + excluded.hits, weight = weight + excluded.weight, us = us + excluded.us"
/* Kinds: processes, machines, builds; machines with an id, of the place and of the build; machines of the application.
 * Without an id, a process counts as a machine. `process`, `machine`: the expressions for them. */
#define WHO_IS_MET(process, machine, whole, condition)                                                                \
    "(SELECT 0 AS kind, s.place AS of, " process " AS who FROM snapshot s WHERE " condition                           \
    " UNION ALL SELECT 1, s.place, " machine " FROM snapshot s WHERE " condition whole                                \
    " UNION ALL SELECT 2, s.place, s.build FROM snapshot s WHERE " condition " UNION ALL SELECT 3, s.place, " machine \
    " FROM snapshot s JOIN rotating o ON o.seq = s.seq WHERE " condition " UNION ALL SELECT 4, s.build, " machine     \
    " FROM snapshot s JOIN rotating o ON o.seq = s.seq WHERE s.place IS NOT NULL AND " condition ")"
#define MACHINE_OF_WHOLE(condition) " UNION ALL SELECT 1, s.whole, s.machine FROM snapshot s WHERE " condition
#define SUM_MET(process, machine, whole, sign, condition)                                    \
    "INSERT INTO met(kind, of, who, count) SELECT kind, of, who, " sign " FROM " WHO_IS_MET( \
        process, machine, whole,                                                             \
        condition) " w WHERE of IS NOT NULL ON CONFLICT(kind, of, who) DO UPDATE SET count = count + excluded.count"
#define SUM_MET_DAY(from, machine, sign, condition)                                                              \
    "INSERT INTO met_day(place, day, build, who, count) SELECT s.place, s.day, s.build, " machine ", " sign      \
    " FROM " from " s WHERE " condition " AND s.place IS NOT NULL ON CONFLICT(place, day, build, who) DO UPDATE" \
    " SET count = count + excluded.count"

/* The client's day if it is plausible by the server's clock: a payload waits a month at most, and clocks differ.
 * Otherwise the server's day. */
#define DAY_OF(created, received)                                                                              \
    "CASE WHEN " created " BETWEEN " received " / 86400000 - 60 AND " received " / 86400000 + 1 THEN " created \
    " ELSE " received " / 86400000 END"

#endif
