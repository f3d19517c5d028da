/* SPDX-License-Identifier: Apache-2.0 */
/* test_short_name.c - function names shortened to a given width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "short_name.h"

static void assert_short(const char *function, int limit, const char *expected)
{
    char out[SBX_SHORT_NAME_BYTES];
    assert_string_equal(sbx_short_name(function, limit, out), expected);
    assert_true(strlen(out) <= (size_t)limit);
}

static void test_a_name_that_fits_stays_as_it_is(void **state)
{
    (void)state;
    assert_short("main", 40, "main");
    assert_short("", 40, "");
    assert_short("std::map<int, int>::find(int const&)", 36, "std::map<int, int>::find(int const&)");
}

static void test_arguments_go_from_the_middle_first(void **state)
{
    (void)state;
    assert_short("FeatherPad::FPwin::saveFile(bool, int, int, bool, QListWidgetItem*, FeatherPad::Page*)", 60,
                 "FeatherPad::FPwin::saveFile(bool, ..., FeatherPad::Page*)");
    assert_short("save(std::map<int, std::pair<int, int> >, void (*)(int, int), bool)", 60,
                 "save(std::map<int, std::pair<int, int> >, ..., bool)");
    assert_short("f(std::vector<int, std::allocator<int> >, int) const", 20, "f(...) const");
}

static void test_templates_and_scopes_go_whole(void **state)
{
    (void)state;
    assert_short("(anonymous namespace)::Box<std::pair<int, std::vector<int> > >::take(Lid<int> const&)", 50,
                 "(anonymous namespace)::Box<...>::take(...)");
    assert_short("v8::internal::(anonymous namespace)::Invoke(v8::internal::Isolate*)", 30, "...::Invoke(...)");
    assert_short("v8::internal::(anonymous namespace)::Invoke(v8::internal::Isolate*)", 45,
                 "...::(anonymous namespace)::Invoke(...)");
    assert_short("a::b<c::d>::operator()<int>(c::d, c::d) const", 33, "...::operator()<...>(...) const");
}

static void test_operators_are_no_brackets(void **state)
{
    (void)state;
    assert_short("some::space::It<int>::operator< <int>(some::space::It<int>) const", 47,
                 "...::space::It<...>::operator< <...>(...) const");
    assert_short("some::space::Stream::operator<<(some::space::Record const&)", 40,
                 "some::space::Stream::operator<<(...)");
    assert_short("some::space::Pointer<some::Thing>::operator->() const", 40, "...::Pointer<...>::operator->() const");
}

static void test_lambdas_stay_readable(void **state)
{
    (void)state;
    assert_short(
        "game::World::step(double)::{lambda(game::Body&, game::Body&)#1}::operator()(game::Body&, game::Body&) "
        "const",
        70, "...::{lambda(game::Body&, game::Body&)#1}::operator()(...) const");
}

static void test_what_has_no_pieces_loses_its_middle(void **state)
{
    (void)state;
    assert_short("a_function_of_c_with_a_rather_long_name", 20, "a_functio...ong_name");
    assert_short("((((((((((((((((((((((((((((((", 12, "(((((...((((");
    assert_short("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 12,
                 "\xc3\xa4\xc3\xa4...\xc3\xa4\xc3\xa4");
}

/* Any content of a symbol file, and any width. */
static void test_any_bytes_fit_any_room(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",  "::",       "<",    ">",         "(",          ")",
                                         "{",  "}",        ", ",   "operator<", "operator()", "(anonymous namespace)",
                                         "->", "\xc3\xa4", "\x80", "[",         "]",          "std"};
    srand(1);
    for (int turn = 0; turn < 20000; turn++) {
        char name[700] = "", out[SBX_SHORT_NAME_BYTES];
        for (int i = rand() % 30; i >= 0; i--) {
            strcat(name, pieces[(size_t)rand() % (sizeof pieces / sizeof pieces[0])]);
        }
        int limit = 10 + rand() % 110;
        sbx_short_name(name, limit, out);
        assert_true(strlen(out) <= (size_t)limit);
        assert_true(strlen(name) > (size_t)limit || strcmp(name, out) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_that_fits_stays_as_it_is),
        cmocka_unit_test(test_arguments_go_from_the_middle_first),
        cmocka_unit_test(test_templates_and_scopes_go_whole),
        cmocka_unit_test(test_operators_are_no_brackets),
        cmocka_unit_test(test_lambdas_stay_readable),
        cmocka_unit_test(test_what_has_no_pieces_loses_its_middle),
        cmocka_unit_test(test_any_bytes_fit_any_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
