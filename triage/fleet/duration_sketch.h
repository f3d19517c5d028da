/* SPDX-License-Identifier: Apache-2.0 */
/* duration_sketch.h - how long stalls last, as counts by bucket. Pure.
 *
 * A bucket counts all durations between G^(i-1) and G^i nanoseconds, G = 1.01 / 0.99. The value of a bucket is within 1
 * % of each of them, and so is every quantile (DDSketch: Masson, Rim and Lee, 2019). Counts of a bucket can be added
 * and subtracted, in a table of a store as in memory: sketches of days and versions are merged by adding, and erasure
 * subtracts. */
#ifndef SBX_DURATION_SKETCH_H
#define SBX_DURATION_SKETCH_H

#include <stddef.h>
#include <stdint.h>

/* INT32_MIN, the lowest bucket, for 0 and less, which have no logarithm. */
int32_t sbx_duration_bucket(int64_t duration_ns);
/* The value of a bucket; 0 for the lowest one. */
int64_t sbx_duration_of_bucket(int32_t bucket);

struct sbx_bucket_count {
    int32_t bucket; /* in ascending order */
    int64_t count;  /* 0 or more */
};

/* The duration that a share of `share` (0..1) of the counted durations does not exceed; 0 if nothing is counted. */
int64_t sbx_duration_quantile(const struct sbx_bucket_count *counts, size_t count, double share);

#endif
