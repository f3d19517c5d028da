/* SPDX-License-Identifier: Apache-2.0 */
/* test_demangle.c - names of C, C++ and Rust, truncated names and malformed names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "demangle.h"

static void assert_demangles(const char *name, const char *expected)
{
    char out[SBX_NAME_BYTES_MAX];
    sbx_demangle(name, out, sizeof out);
    assert_string_equal(out, expected);
}

static void test_names_become_readable(void **state)
{
    (void)state;
    assert_demangles("main", "main");
    assert_demangles("", "");
    assert_demangles("_ZN5outer5inner5Thing3addEi", "outer::inner::Thing::add(int)");
    assert_demangles("_ZN12_GLOBAL__N_14loneEv", "(anonymous namespace)::lone()");
    assert_demangles("_ZN5outer1fEv.constprop.0", "outer::f() [clone .constprop.0]");
    assert_demangles("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example");
    assert_demangles("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
}

/* The return type of a template function is part of its mangled name. It was printed before the name: "Result
 * game::match<int>(int)". */
static void test_the_type_that_a_function_returns_is_left_out(void **state)
{
    (void)state;
    assert_demangles("_ZN2v812_GLOBAL__N_15MatchIiEENS0_6ResultET_", "v8::(anonymous namespace)::Match<int>(int)");
    assert_demangles("_ZN1a3getIiEEPFviET_", "a::get<int>(int)");
    assert_demangles("_ZN1a3BoxcvPT_IiEEv", "a::Box::operator int*<int>()");
}

static void test_what_is_no_mangled_name_stays(void **state)
{
    (void)state;
    assert_demangles("_Znonsense", "_Znonsense");
    assert_demangles("_Z", "_Z");
    assert_demangles("_R", "_R");
    assert_demangles("__libc_start_main", "__libc_start_main");
}

static void test_long_names_are_cut_visibly(void **state)
{
    (void)state;
    char out[12];
    sbx_demangle("a_function_of_some_length", out, sizeof out);
    assert_string_equal(out, "a_functi...");
    sbx_demangle("_ZN5outer5inner5Thing3addEi", out, sizeof out);
    assert_string_equal(out, "outer::i...");
    sbx_demangle("exactly_11c", out, sizeof out);
    assert_string_equal(out, "exactly_11c");
}

static void test_name_over_the_limit_is_not_demangled(void **state)
{
    (void)state;
    char *name = malloc(3 * SBX_NAME_BYTES_MAX), *out = malloc(4 * SBX_NAME_BYTES_MAX);
    memset(name, 'M', 3 * SBX_NAME_BYTES_MAX - 1);
    memcpy(name, "_Z1f", 4);
    name[3 * SBX_NAME_BYTES_MAX - 1] = '\0';
    sbx_demangle(name, out, 4 * SBX_NAME_BYTES_MAX);
    assert_string_equal(out, name);
    free(out);
    free(name);
}

/* Each pair doubles the text: without a limit this name would take 2^60 bytes. */
static void test_sym_07_a_name_that_unfolds_without_end_is_cut(void **state)
{
    (void)state;
    char name[1024] = "_Z1f1AIiE", out[SBX_NAME_BYTES_MAX];
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t used = strlen(name);
    used += (size_t)snprintf(name + used, sizeof name - used, "S0_");
    for (size_t i = 0; i < 30; i++) { /* T_i = pair<T_(i-1), T_(i-1)>, by substitutions */
        used += (size_t)snprintf(name + used, sizeof name - used, "1BIS%c_S%c_E", digits[i], digits[i]);
    }
    sbx_demangle(name, out, sizeof out);
    assert_true(strlen(out) < sizeof out);
}

static void test_every_cut_of_a_name_is_harmless(void **state)
{
    (void)state;
    static const char whole[] = "_ZNSt8_Rb_treeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_iE"
                                "St10_Select1stIS8_ESt4lessIS5_ESaIS8_EE8_M_eraseEPSt13_Rb_tree_nodeIS8_E";
    char name[sizeof whole], out[300];
    for (size_t cut = 0; cut < sizeof whole; cut++) {
        memcpy(name, whole, cut);
        name[cut] = '\0';
        sbx_demangle(name, out, sizeof out);
        assert_true(cut == 0 || out[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_become_readable),
        cmocka_unit_test(test_the_type_that_a_function_returns_is_left_out),
        cmocka_unit_test(test_what_is_no_mangled_name_stays),
        cmocka_unit_test(test_long_names_are_cut_visibly),
        cmocka_unit_test(test_name_over_the_limit_is_not_demangled),
        cmocka_unit_test(test_sym_07_a_name_that_unfolds_without_end_is_cut),
        cmocka_unit_test(test_every_cut_of_a_name_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
