/* SPDX-License-Identifier: Apache-2.0 */
/* store_place.h - where a test's store lies: in the fixture's folder, or in the PostgreSQL that STALLBOX_TEST_DATABASE names
 * (tests/integration/database starts a real one). */
#ifndef SBX_TEST_STORE_PLACE_H
#define SBX_TEST_STORE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* An empty one, for a test that begins. */
const char *store_place_of(const char *data_dir);
bool store_is_postgres(void);

/* One that another server made, in place of it: what the file's statements make. Nobody has it open. */
void store_load(const char *data_dir, const char *sql_file);

/* A number of it, by a query of its own connection; and statements. */
int64_t store_number(const char *data_dir, const char *sql);
void store_run(const char *data_dir, const char *sql);

#endif
