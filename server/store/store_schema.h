/* SPDX-License-Identifier: Apache-2.0 */
/* store_schema.h - the tables of a store and the statements that write to them. */
#ifndef SBX_STORE_SCHEMA_H
#define SBX_STORE_SCHEMA_H

#include "store_inside.h"

/* What a fresh connection is told; the writer's makes the tables that are missing. */
extern const char sbx_store_writer_setup[], sbx_store_reader_setup[];
extern const char *const sbx_store_writer_sql[WRITER_STATEMENTS];

/* Give a fresh file its version, and an older one the tables of this server. Before anybody else opens it. 0; -EPROTO: a newer
 * server made it; -EIO. */
/* The same in PostgreSQL, and what each connection to it begins with. */
int sbx_store_renew_schema_postgres(const char *url, char *why, size_t why_bytes);
extern const char sbx_store_postgres_setup[];
/* The server's clock in milliseconds, and until when a payload that is taken now is nobody else's. */
#define SBX_POSTGRES_NOW   "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
#define SBX_POSTGRES_LEASE "(" SBX_POSTGRES_NOW " + 30000)"

int sbx_store_renew_schema(struct sbx_store *store, char *why, size_t why_bytes);

/* A version as a number that is greater for a later one: "1.2.3", or less of it. 0 for what is none. */
int64_t sbx_version_rank(const char *version);

#endif
