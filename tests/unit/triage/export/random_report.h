/* SPDX-License-Identifier: Apache-2.0 */
/* random_report.h - makes a report of arbitrary bytes: for tests of properties that hold for every payload, and for
 * fuzzing. */
#ifndef SBX_RANDOM_REPORT_H
#define SBX_RANDOM_REPORT_H

#include "report_fixture.h"

/* A report that a decoder could have made: indexes are in range and records are ordered by their ends. But, depending
 * on the bytes, records overlap, nest, and contradict messages and clocks. The caller's to destroy. */
struct report_fixture *random_report_create(const uint8_t *bytes, size_t count);

/* The same, made from a seed, with `records` records. */
struct report_fixture *random_report_from_seed(uint64_t seed, size_t records);

#endif
