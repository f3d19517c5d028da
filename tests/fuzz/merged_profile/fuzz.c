/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - profiles of stalls, as a triage worker that was taken over could make them up.
 *
 * Property: in an added profile the times add up from callees to callers, on each side. Whatever was added can be
 * printed in all formats, searched, and taken apart around a function. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_target.h"
#include "merged_printers.h"

static void must_add_up(const struct sbx_merged_profile *profile)
{
    for (uint32_t node = 0; node < profile->count; node++) {
        for (int side = 0; side < SBX_MERGED_SIDES; side++) {
            double below = profile->nodes[node].self_us[side];
            for (uint32_t child = profile->nodes[node].first_child; child != 0;
                 child = profile->nodes[child].next_sibling) {
                MUST(profile->nodes[child].parent == node);
                below += profile->nodes[child].total_us[side];
            }
            double total = profile->nodes[node].total_us[side];
            MUST(fabs(total - below) <= 1e-9 * total + 1e-6);
        }
    }
}

static void print_all(const struct sbx_merged_profile *profile, FILE *out)
{
    struct sbx_merged_view view = {.title = "t", .link = "/profile?at=", .find = "a"};
    MUST(sbx_print_merged_svg(profile, &view, out) == 0);
    view.compares = view.keeps_shared_rows = true;
    view.side = SBX_MERGED_BASE;
    view.at = profile->count / 2;
    MUST(sbx_print_merged_svg(profile, &view, out) == 0);
    MUST(sbx_print_merged_folded(profile, out) == 0);
    MUST(sbx_print_merged_pprof(profile, "c", out) == 0);
    MUST(sbx_print_merged_speedscope(profile, "n", out) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    struct sbx_merged_profile profile, callers, callees;
    struct sbx_merged_function functions[4];
    nowhere = nowhere != NULL ? nowhere : fopen("/dev/null", "w");
    MUST(nowhere != NULL && sbx_merged_profile_init(&profile) == 0);
    int here = sbx_merged_profile_add(&profile, (const char *)data, size, 3, SBX_MERGED_HERE);
    int base = sbx_merged_profile_add(&profile, (const char *)data, size, UINT32_MAX, SBX_MERGED_BASE);
    MUST(here == base);
    sbx_merged_profile_settle(&profile);
    must_add_up(&profile);
    print_all(&profile, nowhere);
    size_t count = sbx_merged_profile_functions(&profile, functions, 4);
    for (size_t i = 0; i < count; i++) {
        if (sbx_merged_profile_around(&profile, functions[i].name, &callers, &callees) >= 0) {
            must_add_up(&callers);
            must_add_up(&callees);
            sbx_merged_profile_finish(&callers);
            sbx_merged_profile_finish(&callees);
        }
    }
    MUST(sbx_merged_profile_share_of(&profile, "a") <= 1 + 1e-9);
    sbx_merged_profile_finish(&profile);
    return 0;
}
