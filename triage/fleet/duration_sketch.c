/* SPDX-License-Identifier: Apache-2.0 */
/* duration_sketch.c - how long stalls last, as counts by bucket. */
#include "duration_sketch.h"

#include <math.h>

static const double growth = 1.01 / 0.99;

int32_t sbx_duration_bucket(int64_t duration_ns)
{
    return duration_ns <= 0 ? INT32_MIN : (int32_t)ceil(log((double)duration_ns) / log(growth));
}

int64_t sbx_duration_of_bucket(int32_t bucket)
{
    double value = bucket == INT32_MIN ? 0 : 2 * pow(growth, bucket) / (growth + 1);
    return value < 0x1p63 ? (int64_t)llround(value) : INT64_MAX;
}

int64_t sbx_duration_quantile(const struct sbx_bucket_count *counts, size_t count, double share)
{
    double total = 0, passed = 0;
    for (size_t i = 0; i < count; i++) {
        total += (double)counts[i].count;
    }
    if (total <= 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        passed += (double)counts[i].count;
        if (counts[i].count > 0 && passed >= share * total) {
            return sbx_duration_of_bucket(counts[i].bucket);
        }
    }
    return sbx_duration_of_bucket(counts[count - 1].bucket);
}
