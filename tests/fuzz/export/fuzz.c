/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - whatever a decoded payload contains, every exporter writes it and stays within its bounds.
 *
 * The bytes are a list of records (random_report.h) behind the decoder, which has a fuzz target of its own. The aim is
 * an order of records that breaks the invariants of spans and slices, which debug builds assert. */
#include <stdio.h>
#include <stdlib.h>

#include "exporters.h"
#include "fuzz_target.h"
#include "random_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static int (*const prints[])(const struct sbx_report *report, FILE *out) = {
        sbx_print_perfetto,     sbx_print_pprof,           sbx_print_folded,
        sbx_print_timeline_svg, sbx_print_flame_svg,       sbx_print_async_folded,
        sbx_print_async_pprof,  sbx_print_async_flame_svg, sbx_print_judged_timeline_svg,
        sbx_print_timeline_json};
    enum {
        PRINTS = sizeof prints / sizeof prints[0]
    };
    static FILE *nowhere;
    if (nowhere == NULL) {
        nowhere = fopen("/dev/null", "wb");
    }
    if (nowhere == NULL || bytes == 0 || bytes > 1024) {
        return 0; /* longer lists have no new orders, only more of them */
    }
    /* The first byte selects one exporter; one at a time allows five times as many runs. */
    struct report_fixture *fixture = random_report_create(data + 1, bytes - 1);
    for (size_t i = 0; i < PRINTS; i++) {
        if ((data[0] % (PRINTS + 1) == i || data[0] % (PRINTS + 1) == PRINTS) &&
            prints[i](report_fixture_report(fixture), nowhere) != 0) {
            abort();
        }
    }
    report_fixture_destroy(fixture);
    return 0;
}
