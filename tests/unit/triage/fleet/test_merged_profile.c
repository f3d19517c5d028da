/* SPDX-License-Identifier: Apache-2.0 */
/* test_merged_profile.c - profiles of many stalls are merged, compared, taken apart and printed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "merged_printers.h"
#include "printed.h"

static const char FIRST[] = "0 1:100 \n1 - main\n2 1:200 f\n3 3:700 g\n";
static const char SECOND[] = "0 - \n1 - main\n2 - f\n3 1:50,3:50 g\n2 6:400 h;\"x\n3 6:500 f\n";

static struct sbx_merged_profile profile;

static void add(const char *text, uint32_t weight, enum sbx_merged_side side)
{
    assert_int_equal(sbx_merged_profile_add(&profile, text, strlen(text), weight, side), 0);
}

static int begin(void **state)
{
    (void)state;
    return sbx_merged_profile_init(&profile);
}

static int end(void **state)
{
    (void)state;
    sbx_merged_profile_finish(&profile);
    return 0;
}

/* Find a node by the names from the root, "main/f/g". */
static const struct sbx_merged_node *node_at(const struct sbx_merged_profile *of, const char *path)
{
    uint32_t node = 0;
    char copy[200], *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *name = strsep(&rest, "/"); name != NULL && *name != '\0'; name = strsep(&rest, "/")) {
        uint32_t child = of->nodes[node].first_child;
        while (child != 0 && strcmp(of->nodes[child].name, name) != 0) {
            child = of->nodes[child].next_sibling;
        }
        assert_int_not_equal(child, 0);
        node = child;
    }
    return &of->nodes[node];
}

static void test_times_are_added_by_weight_and_stalls_are_counted(void **state)
{
    (void)state;
    add(FIRST, 1, SBX_MERGED_HERE);
    add(SECOND, 10, SBX_MERGED_HERE);
    sbx_merged_profile_settle(&profile);
    assert_int_equal(profile.stalls[SBX_MERGED_HERE], 2);
    assert_true(profile.weight[SBX_MERGED_HERE] == 11);
    assert_true(profile.nodes[0].total_us[SBX_MERGED_HERE] == 1000 + 10 * 1000);
    const struct sbx_merged_node *g = node_at(&profile, "main/f/g");
    assert_true(g->total_us[SBX_MERGED_HERE] == 700 + 10 * 100);
    assert_true(g->by_state_us[3] == 700 + 10 * 50 && g->by_state_us[1] == 10 * 50);
    assert_int_equal(g->stalls[SBX_MERGED_HERE], 2);
    assert_int_equal(node_at(&profile, "main/h;\"x")->stalls[SBX_MERGED_HERE], 1);
    assert_string_equal(profile.nodes[profile.nodes[profile.nodes[0].first_child].first_child].name,
                        "h;\"x"); /* the longest one */
    assert_int_equal(sbx_merged_profile_find(&profile, g->path), g - profile.nodes);
    assert_int_equal(sbx_merged_profile_find(&profile, 12345), 0);
}

static void test_what_is_no_profile_is_refused_whole(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "0 - ",
                                      "1 - main\n",
                                      "0 - \n2 - main\n",
                                      "0 - \n1 - main\n3 - f\n",
                                      "0 - \n0 - \n",
                                      "0 1 \n",
                                      "0 a:1 \n",
                                      "0 12:1 \n",
                                      "0 1:1,\n",
                                      "0 1:1234567890123456 \n",
                                      "0 -\n",
                                      "00000 - \n",
                                      "0 - \n1 1:-5 f\n"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(sbx_merged_profile_add(&profile, bad[i], strlen(bad[i]), 1, SBX_MERGED_HERE), -EPROTO);
    }
    assert_int_equal(sbx_merged_profile_add(&profile, "0 - \n1 - a\0b\n", 13, 1, SBX_MERGED_HERE), -EPROTO);
    assert_int_equal(profile.count, 1);
    assert_int_equal(profile.stalls[SBX_MERGED_HERE], 0);
}

static void test_two_sides_have_shares_of_their_own(void **state)
{
    (void)state;
    add(FIRST, 1, SBX_MERGED_HERE);
    add(SECOND, 3, SBX_MERGED_BASE);
    sbx_merged_profile_settle(&profile);
    uint32_t g = (uint32_t)(node_at(&profile, "main/f/g") - profile.nodes);
    assert_true(sbx_merged_share(&profile, g, SBX_MERGED_HERE) == 0.7);
    assert_true(sbx_merged_share(&profile, g, SBX_MERGED_BASE) == 0.1);
    assert_true(profile.nodes[g].by_state_us[3] == 700); /* of this side */
}

static void test_callers_and_callees_of_a_function_add_up_over_all_chains(void **state)
{
    (void)state;
    struct sbx_merged_profile callers, callees;
    add(FIRST, 1, SBX_MERGED_HERE);
    add(SECOND, 1, SBX_MERGED_HERE);
    add("0 - \n1 - f\n2 - k\n3 1:5 f\n4 1:6 g\n", 1, SBX_MERGED_HERE); /* f within f */
    sbx_merged_profile_settle(&profile);
    assert_int_equal(sbx_merged_profile_around(&profile, "f", &callers, &callees), 3);
    assert_true(node_at(&callers, "f")->total_us[0] == 900 + 100 + 500 + 11);
    assert_true(node_at(&callers, "f/main")->total_us[0] == 1000);
    assert_true(node_at(&callers, "f/h;\"x/main")->total_us[0] == 500);
    assert_true(node_at(&callees, "f")->total_us[0] == node_at(&callers, "f")->total_us[0]);
    assert_true(node_at(&callees, "f/g")->total_us[0] == 800);
    assert_true(node_at(&callees, "f/g")->by_state_us[3] == 750);
    assert_true(node_at(&callees, "f/k/f/g")->total_us[0] == 6);
    sbx_merged_profile_finish(&callers);
    sbx_merged_profile_finish(&callees);
    assert_int_equal(sbx_merged_profile_around(&profile, "nobody", &callers, &callees), 0);
    sbx_merged_profile_finish(&callers);
    sbx_merged_profile_finish(&callees);
}

static void test_a_search_counts_a_chain_once(void **state)
{
    (void)state;
    add("0 - \n1 - main\n2 1:10 Read\n3 1:30 read_all\n2 1:60 write\n", 1, SBX_MERGED_HERE);
    sbx_merged_profile_settle(&profile);
    assert_true(sbx_merged_profile_share_of(&profile, "rEAD") == 0.4);
    assert_true(sbx_merged_profile_share_of(&profile, "main") == 1);
    assert_true(sbx_merged_profile_share_of(&profile, "") == 0);
}

static void test_functions_are_listed_by_their_own_time(void **state)
{
    (void)state;
    struct sbx_merged_function rows[8];
    add(FIRST, 1, SBX_MERGED_HERE);
    add("0 - \n1 - f\n2 1:5 f\n", 1, SBX_MERGED_HERE);
    sbx_merged_profile_settle(&profile);
    assert_int_equal(sbx_merged_profile_functions(&profile, rows, 8), 2); /* main has no time of its own */
    assert_string_equal(rows[0].name, "g");
    assert_string_equal(rows[1].name, "f");
    assert_true(rows[1].self_us[0] == 205 && rows[1].total_us[0] == 905);
    assert_int_equal(sbx_merged_profile_functions(&profile, rows, 1), 1);
}

/* ---- printers ---- */

static char *print(int (*printer)(const struct sbx_merged_profile *, FILE *))
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_int_equal(printer(&profile, stream), 0);
    assert_int_equal(fclose(stream), 0);
    char *copy = strdup(text); /* gcc 12 confuses the stream's memory with the variable's */
    free(text);
    assert_non_null(copy);
    return copy;
}

static int print_speedscope(const struct sbx_merged_profile *of, FILE *out)
{
    return sbx_print_merged_speedscope(of, "a \"name\"", out);
}

static struct sbx_merged_view view;

static int print_svg(const struct sbx_merged_profile *of, FILE *out)
{
    return sbx_print_merged_svg(of, &view, out);
}

static void test_folded_lines_and_speedscope_have_each_stack_once(void **state)
{
    (void)state;
    add(FIRST, 1, SBX_MERGED_HERE);
    add(SECOND, 1, SBX_MERGED_HERE);
    sbx_merged_profile_settle(&profile);
    char *text = print(sbx_print_merged_folded);
    assert_string_equal(text, "main;f 200\nmain;f;g 800\nmain;h,\"x 400\nmain;h,\"x;f 500\n[no stack is known] 100\n");
    free(text);
    text = print(print_speedscope);
    assert_non_null(strstr(text, "\"name\":\"a \\\"name\\\"\""));
    assert_non_null(strstr(text, "{\"name\":\"h;\\\"x\"}"));
    assert_non_null(strstr(text, "\"endValue\":1900,"));
    assert_non_null(strstr(text, "\"weights\":[200,800,400,500]"));
    free(text);
}

static void test_the_picture_has_links_marks_and_one_row_for_what_all_share(void **state)
{
    (void)state;
    add(FIRST, 1, SBX_MERGED_HERE);
    add("0 - \n1 - main\n2 - <loop>\n3 1:9 f\n", 100, SBX_MERGED_HERE);
    sbx_merged_profile_settle(&profile);
    view = (struct sbx_merged_view){.title = "t\"", .link = "/profile?a=1&at=", .find = "g"};
    assert_int_equal(sbx_merged_shared_rows(&profile, 0, SBX_MERGED_HERE), 1);
    char *text = print(print_svg), link[80];
    assert_non_null(strstr(text, "role=\"group\" aria-label=\"t&quot;\""));
    assert_non_null(strstr(text, "&lt;loop&gt;"));
    assert_null(strstr(text, ">all<"));
    snprintf(link, sizeof link, "<a href=\"/profile?a=1&amp;at=%016llx\">",
             (unsigned long long)node_at(&profile, "main/f/g")->path);
    assert_non_null(strstr(text, link));
    assert_int_equal(count_of(text, "#ffe066"), 1);
    assert_non_null(strstr(text, "in 1 of 2 stalls"));
    free(text);
    view.keeps_shared_rows = true;
    view.link = "";
    text = print(print_svg);
    assert_non_null(strstr(text, ">all<"));
    assert_null(strstr(text, "<a "));
    assert_svg_is_sound(text);
    free(text);
    view.at = (uint32_t)(node_at(&profile, "main/f") - profile.nodes);
    text = print(print_svg);
    assert_null(strstr(text, "&lt;loop&gt;"));
    free(text);
}

static void test_a_comparison_is_coloured_by_the_difference_of_shares(void **state)
{
    (void)state;
    add("0 - \n1 - main\n2 1:90 worse\n2 1:10 better\n", 1, SBX_MERGED_HERE);
    add("0 - \n1 - main\n2 1:10 worse\n2 1:90 better\n", 1, SBX_MERGED_BASE);
    sbx_merged_profile_settle(&profile);
    view = (struct sbx_merged_view){.title = "", .link = "", .find = "", .compares = true};
    char *text = print(print_svg);
    const char *worse = strstr(text, "worse: "), *better = strstr(text, "better: ");
    assert_non_null(worse);
    assert_non_null(better);
    assert_non_null(strstr(worse, "90.0 % of the time, 10.0 % on the other side"));
    assert_non_null(strstr(worse, "#e36f57"));
    assert_true(strstr(better, "#5d9bce") < worse); /* equal lengths are ordered by name */
    free(text);
}

static void test_deep_and_wide_profiles_stay_within_bounds(void **state)
{
    (void)state;
    char *text = malloc(SBX_STALL_PROFILE_BYTES + 1);
    for (int turn = 0; turn < 200; turn++) {
        int used = sprintf(text, "0 - \n");
        for (int i = 1; i < 500; i++) {
            used += sprintf(text + used, "%d 1:1 f%d_%d\n", i, turn, i);
        }
        assert_int_equal(sbx_merged_profile_add(&profile, text, (size_t)used, 1, SBX_MERGED_HERE), 0);
    }
    free(text);
    sbx_merged_profile_settle(&profile);
    assert_true(profile.is_cut);
    assert_int_equal(profile.count, SBX_MERGED_NODES_MAX);
    assert_true(profile.nodes[0].total_us[SBX_MERGED_HERE] == 200 * 499); /* no time is lost */
    view = (struct sbx_merged_view){.title = "", .link = "", .find = ""};
    text = print(print_svg);
    assert_non_null(strstr(text, "what is deeper is left out"));
    assert_true(strlen(text) < 8u << 20);
    free(text);
}

int main(void)
{
#define WITH_PROFILE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        WITH_PROFILE(test_times_are_added_by_weight_and_stalls_are_counted),
        WITH_PROFILE(test_what_is_no_profile_is_refused_whole),
        WITH_PROFILE(test_two_sides_have_shares_of_their_own),
        WITH_PROFILE(test_callers_and_callees_of_a_function_add_up_over_all_chains),
        WITH_PROFILE(test_a_search_counts_a_chain_once),
        WITH_PROFILE(test_functions_are_listed_by_their_own_time),
        WITH_PROFILE(test_folded_lines_and_speedscope_have_each_stack_once),
        WITH_PROFILE(test_the_picture_has_links_marks_and_one_row_for_what_all_share),
        WITH_PROFILE(test_a_comparison_is_coloured_by_the_difference_of_shares),
        WITH_PROFILE(test_deep_and_wide_profiles_stay_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
