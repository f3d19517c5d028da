/* SPDX-License-Identifier: Apache-2.0 */
/* export_sample.c - writes a sample report in one format to a file: for the Perfetto validator, for checks by other
 * consumers, and to look at the pictures. Usage: export_sample NAME FORMAT FILE */
#include <stdio.h>
#include <string.h>

#include "exporters.h"
#include "sample_reports.h"

static const struct {
    const char *name;
    int (*print)(const struct sbx_report *report, FILE *out);
} formats[] = {
    {"perfetto", sbx_print_perfetto},
    {"pprof", sbx_print_pprof},
    {"folded", sbx_print_folded},
    {"timeline.svg", sbx_print_timeline_svg},
    {"flame.svg", sbx_print_flame_svg},
    {"judged.svg", sbx_print_judged_timeline_svg},
    {"timeline.json", sbx_print_timeline_json},
};

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr,
                "usage: %s sleep|script|lock|unanswered "
                "perfetto|pprof|folded|timeline.svg|judged.svg|flame.svg|timeline.json FILE\n",
                argv[0]);
        return 2;
    }
    struct report_fixture *fixture = sample_by_name(argv[1]);
    if (fixture == NULL) {
        fprintf(stderr, "%s: no sample of this name\n", argv[1]);
        return 2;
    }
    int result = -1;
    FILE *out = fopen(argv[3], "wb");
    if (out == NULL) {
        perror(argv[3]);
        report_fixture_destroy(fixture);
        return 1;
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, argv[2]) == 0) {
            result = formats[i].print(report_fixture_report(fixture), out);
        }
    }
    if (fclose(out) != 0 || result != 0) {
        fprintf(stderr, "%s: could not write %s: %s\n", argv[3], argv[2],
                result == -1 ? "unknown format" : strerror(-result));
        result = 1;
    }
    report_fixture_destroy(fixture);
    return result == 0 ? 0 : 1;
}
