/* SPDX-License-Identifier: Apache-2.0 */
/* random_report.h - any bytes as a report: for tests of what must hold whatever a payload says, and for fuzzing. */
#ifndef SBX_RANDOM_REPORT_H
#define SBX_RANDOM_REPORT_H

#include "report_fixture.h"

/* A report that a decoder could have made: indexes are in range and records ordered by end, but they overlap, nest, lie
 * about messages and clocks as the bytes will. The caller's to destroy. */
struct report_fixture *random_report_create(const uint8_t *bytes, size_t count);

/* The same from a seed, with `records` records. */
struct report_fixture *random_report_from_seed(uint64_t seed, size_t records);

#endif
