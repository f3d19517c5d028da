/* SPDX-License-Identifier: Apache-2.0 */
/* store_place.h - where a test's store is: in the fixture's folder, or in the PostgreSQL that STALLBOX_TEST_DATABASE
 * names (tests/integration/database starts a real one). */
#ifndef SBX_TEST_STORE_PLACE_H
#define SBX_TEST_STORE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

/* An empty store for a test that begins. */
const char *store_place_of(const char *data_dir);
bool store_is_postgres(void);

/* Replace the store by one that another server made, with the statements of the file. No process may have it open. */
void store_load(const char *data_dir, const char *sql_file);

/* Read a number from the store by a query on a separate connection; and run statements. */
int64_t store_number(const char *data_dir, const char *sql);
void store_run(const char *data_dir, const char *sql);

#endif
