/* SPDX-License-Identifier: Apache-2.0 */
/* rows_sample.h - rows made by hand, for tests of their file and their cache. */
#ifndef SBX_TEST_ROWS_SAMPLE_H
#define SBX_TEST_ROWS_SAMPLE_H

#include <stdint.h>

#include "rows_file.h"

/* A key; different seeds give different build-ids. */
struct sbx_rows_key sample_key(uint32_t seed);

/* Make `count` rows (2 at least) that cover `count` times 0x340 bytes of code, as valid as the builder's, in pages of
 * their own. Different seeds give different rules. Release with sbx_unwind_rows_release(). */
struct sbx_unwind_rows sample_rows(uint32_t seed, uint32_t count);

/* Compare every row, bucket and lookup. Fails the test when they differ. */
void assert_rows_equal(const struct sbx_unwind_rows *left, const struct sbx_unwind_rows *right);

#endif
