/* SPDX-License-Identifier: Apache-2.0 */
/* sql_postgres.h - PostgreSQL behind sql.h, at postgresql://[USER@]HOST[:PORT]/DATABASE. Passwords come from where libpq looks for them
 * (~/.pgpass), never from the URL's text on a command line. */
#ifndef SBX_SQL_POSTGRES_H
#define SBX_SQL_POSTGRES_H

#include "sql.h"

bool sbx_sql_is_postgres(const char *where);
/* Describe the place for people: without user, password and arguments. */
void sbx_sql_place(const char *where, char *place_out, size_t bytes);

/* `setup` runs on every connection, also on one that is opened again. Returns 0, or -errno with the place and the
 * reason. */
int sbx_sql_open_postgres(const char *url, const char *setup, struct sbx_sql **sql_out, char *why, size_t why_bytes);

#endif
