/* SPDX-License-Identifier: Apache-2.0 */
/* test_stable_name.c - the names of one function in many builds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stable_name.h"

static void test_a_function_has_one_name_in_all_builds(void **state)
{
    (void)state;
    static const struct {
        const char *function, *stable;
    } cases[] = {
        {"db_query", "db_query"},
        {"db_query.constprop.0", "db_query"},
        {"db_query.part.0.isra.3", "db_query"},
        {"db_query.cold", "db_query"},
        {"db_query.lto_priv.12", "db_query"},
        {"db_query.llvm.1234567", "db_query"},
        {"app::open(int) [clone .constprop.0]", "app::open"},
        {"app::open(std::string const&, int) const", "app::open"},
        {"void app::visit<int>(int)", "app::visit<int>"},
        {"std::vector<int> app::visit<int, (anonymous namespace)::T>(int)",
         "app::visit<int, (anonymous namespace)::T>"},
        {"app::Box<int>::open(int)::{lambda()#1}::operator()() const", "app::Box<int>::open"},
        {"app::open::<lambda(int)>", "app::open"},
        {"(anonymous namespace)::run(char const*)", "(anonymous namespace)::run"},
        {"app::name[abi:cxx11](int)", "app::name"},
        {"app::Less::operator()(int, int) const", "app::Less::operator()"},
        {"app::operator<<(std::ostream&, int)", "app::operator<<"},
        {"app::Box::operator bool() const", "app::Box::operator bool"},
        {"operator new(unsigned long)", "operator new"},
        {"app::outer(int)::Local::run()", "app::outer::Local::run"},
        {"app::handle::h0123456789abcdef", "app::handle"},
        {"app::handle::{closure#0}", "app::handle"},
        {"main.serve.func1", "main.serve"},
        {"main.functional", "main.functional"},
        {"(anonymous)", "(anonymous)"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[SBX_STABLE_NAME_BYTES];
        sbx_stable_name(cases[i].function, name);
        assert_string_equal(name, cases[i].stable);
    }
}

static void test_a_name_of_any_shape_fits(void **state)
{
    (void)state;
    char name[SBX_STABLE_NAME_BYTES], shape[5000];
    static const char letters[] = "a<>()[]{} :.~";
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        size_t bytes = (seed >> 8) % (round % 100 == 0 ? sizeof shape : 40);
        for (size_t i = 0; i < bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            shape[i] = letters[(seed >> 16) % (sizeof letters - 1)];
        }
        seed = seed * 1664525 + 1013904223;
        shape[bytes < sizeof shape ? bytes : sizeof shape - 1] = '\0';
        sbx_stable_name(shape, name);
        assert_true(strlen(name) < sizeof name);
        assert_true(shape[0] == '\0' || name[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_has_one_name_in_all_builds),
        cmocka_unit_test(test_a_name_of_any_shape_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
