/* SPDX-License-Identifier: Apache-2.0 */
/* test_blame.c - the function a person should look at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "blame.h"
#include "one_scene.h"

static void assert_leaf(uint32_t stack, const char *expected)
{
    assert_string_equal(sbx_blame_leaf(sbx_scene_report(scene), stack)->function, expected);
}

static void test_leaf_skips_library_agent_and_language(void **state)
{
    (void)state;
    uint32_t plain = sbx_scene_stack(scene, "work < main");
    uint32_t library = sbx_scene_stack(scene, "libc:memcpy < jemalloc:realloc < work < main");
    uint32_t agent = sbx_scene_stack(scene, "agent:hook < work < main");
    uint32_t language = sbx_scene_stack(scene, "std::vector<int>::push_back(int) < operator new(unsigned long) < work");
    uint32_t template = sbx_scene_stack(scene, "void std::sort<int*>(int*, int*) < work");
    uint32_t lookalike = sbx_scene_stack(scene, "mystd::run(std::string) < main");
    uint32_t unnamed = sbx_scene_stack(scene, "?1 < ?2 < work < main");
    assert_leaf(plain, "work");
    assert_leaf(library, "work");
    assert_leaf(agent, "work");
    assert_leaf(language, "work");
    assert_leaf(template, "work");
    assert_leaf(lookalike, "mystd::run(std::string)");
    assert_leaf(unnamed, "work");
}

static void test_own_code_comes_before_that_of_other_libraries(void **state)
{
    (void)state;
    uint32_t called = sbx_scene_stack(scene, "sqlite:sqlite3_step < load_rows < main");
    uint32_t by_main = sbx_scene_stack(scene, "libc:read < sqlite:sqlite3_step < main");
    uint32_t only_main = sbx_scene_stack(scene, "libc:usleep < main");
    uint32_t in_loop =
        sbx_scene_stack(scene, "sqlite:sqlite3_step < glib:g_main_context_dispatch < glib:g_main_loop_run < "
                               "run_window < main");
    uint32_t handler =
        sbx_scene_stack(scene, "sqlite:sqlite3_step < on_click < glib:g_main_loop_run < run_window < main");
    assert_leaf(called, "load_rows");
    assert_leaf(by_main, "sqlite3_step");
    assert_leaf(only_main, "main");
    assert_leaf(in_loop, "sqlite3_step"); /* the function that runs the loop is not to blame */
    assert_leaf(handler, "on_click");
}

static void test_a_scripts_function_that_is_called_main_is_blamed_as_any_other(void **state)
{
    (void)state;
    uint32_t script = sbx_scene_stack(scene, "libc:poll < sqlite:_PyObject_MakeTpCall < main#app.py:5 < "
                                             "sqlite:_PyEval_EvalFrameDefault < sqlite:Py_RunMain < main");
    assert_leaf(script, "main");
    assert_string_equal(sbx_blame_leaf(sbx_scene_report(scene), script)->file, "app.py");
}

/* In a web server that runs scripts, the caller of the interpreter is not to blame for what a script does. */
static void test_a_script_is_not_to_blame_on_what_called_its_interpreter(void **state)
{
    (void)state;
    uint32_t by_library = sbx_scene_stack(
        scene, "libc:select < sqlite:?1 < sqlite:_PyEval_EvalFrameDefault < sqlite:PyObject_Call < receive < main");
    uint32_t embedded = sbx_scene_stack(scene, "libc:poll < luaV_execute < lua_pcall < evaluate < main");
    uint32_t extension = sbx_scene_stack(
        scene, "libc:poll < do_in_c < sqlite:_PyEval_EvalFrameDefault < sqlite:PyObject_Call < receive");
    assert_leaf(by_library, "_PyEval_EvalFrameDefault");
    assert_leaf(embedded, "luaV_execute");
    assert_leaf(extension, "do_in_c");
}

static void test_loops_in_any_module_are_not_to_blame_for_what_they_poll(void **state)
{
    (void)state;
    uint32_t stack = sbx_scene_stack(
        scene, "libc:epoll_wait < uv__io_poll < uv_run < node::SyncProcessRunner::TryInitializeAndRunLoop(int) < main");
    assert_leaf(stack, "node::SyncProcessRunner::TryInitializeAndRunLoop(int)");
}

static void test_a_handler_that_turns_a_loop_of_its_own_waits_in_it(void **state)
{
    (void)state;
    uint32_t nested = sbx_scene_stack(scene, "libc:epoll_wait < uv__io_poll < uv_run < run_tool < uv_run < main");
    uint32_t own =
        sbx_scene_stack(scene, "libc:read < in_dialog < g_main_loop_run < open_dialog < g_main_loop_run < main");
    uint32_t other = sbx_scene_stack(scene, "libc:poll < g_main_loop_run < application < main");
    assert_leaf(nested, "run_tool");
    assert_leaf(own, "in_dialog");
    assert_leaf(other, "g_main_loop_run");
}

static void test_leaf_takes_what_there_is(void **state)
{
    (void)state;
    uint32_t unnamed = sbx_scene_stack(scene, "libc:poll < ?1 < ?2");
    uint32_t generated = sbx_scene_stack(scene, "libc:write < gen: < libc:start");
    uint32_t library = sbx_scene_stack(scene, "libc:poll < libc:start < end:");
    uint32_t marker = sbx_scene_stack(scene, "end:");
    assert_leaf(unnamed, "?1");
    assert_leaf(generated, "[generated]");
    assert_leaf(library, "poll");
    assert_null(sbx_blame_leaf(sbx_scene_report(scene), marker));
    assert_null(sbx_blame_leaf(sbx_scene_report(scene), 0));
    assert_null(sbx_blame_leaf(sbx_scene_report(scene), 999999));
}

static void test_wholeness_and_allocators_are_seen(void **state)
{
    (void)state;
    uint32_t whole = sbx_scene_stack(scene, "work < main"), cut = sbx_scene_stack(scene, "work < end:");
    uint32_t pool = sbx_scene_stack(scene, "jemalloc:arena_bin < work"),
             libc = sbx_scene_stack(scene, "libc:_int_free < w");
    uint32_t own = sbx_scene_stack(scene, "free_list_walk < work");
    const struct sbx_report *report = sbx_scene_report(scene);
    assert_true(sbx_blame_is_whole(report, whole));
    assert_false(sbx_blame_is_whole(report, cut));
    assert_true(sbx_blame_is_allocator(report, pool));
    assert_true(sbx_blame_is_allocator(report, libc));
    assert_false(sbx_blame_is_allocator(report, own));
    assert_false(sbx_blame_is_allocator(report, 0));
}

/* The heaviest path in up to four stacks with given weights. */
static struct sbx_blame_path heaviest(const char *const *stacks, const double *amounts, size_t count, uint32_t *ids)
{
    struct sbx_blame_path path;
    for (size_t i = 0; i < count; i++) {
        ids[i] = sbx_scene_stack(scene, stacks[i]);
    }
    const struct sbx_report *report = sbx_scene_report(scene);
    double *weights = calloc(report->stall->callstack_count + 1, sizeof *weights);
    for (size_t i = 0; i < count; i++) {
        weights[ids[i]] += amounts[i];
    }
    assert_int_equal(sbx_blame_heaviest(report, weights, &path), 0);
    free(weights);
    return path;
}

static void test_deepest_majority_wins(void **state)
{
    (void)state;
    static const char *const stacks[] = {"x < hot < solve < main", "y < hot < solve < main", "cold < solve < main",
                                         "idle < main"};
    static const double weights[] = {3, 4, 2, 1};
    uint32_t ids[4];
    struct sbx_blame_path path = heaviest(stacks, weights, 4, ids);
    assert_string_equal(path.location->function, "hot");
    assert_string_equal(path.callers[0]->function, "solve");
    assert_string_equal(path.callers[1]->function, "main");
    assert_true(path.share > 0.699 && path.share < 0.701);
    assert_int_equal(path.stack, ids[1]);
}

static void test_recursion_and_call_sites_are_merged(void **state)
{
    (void)state;
    static const char *const stacks[] = {"eval < eval < eval < main", "eval < main", "eval < eval < main"};
    static const double weights[] = {1, 1, 1};
    uint32_t ids[3];
    struct sbx_blame_path path = heaviest(stacks, weights, 3, ids);
    assert_string_equal(path.location->function, "eval");
    assert_true(path.share > 0.999);
    assert_string_equal(path.callers[0]->function, "main");
    assert_null(path.callers[1]);
}

static void test_of_a_function_the_line_is_told_that_most_of_its_time_goes_through(void **state)
{
    (void)state;
    static const char *const stacks[] = {"crunch#shop.py:7 < main", "crunch#shop.py:9 < main",
                                         "len#shop.py:2 < crunch#shop.py:10 < main",
                                         "sum#shop.py:3 < crunch#shop.py:10 < main"};
    static const double weights[] = {4, 3, 3, 2};
    uint32_t ids[4];
    struct sbx_blame_path path = heaviest(stacks, weights, 4, ids);
    assert_string_equal(path.location->function, "crunch");
    assert_int_equal(path.location->line, 10);
    assert_int_equal(path.stack, ids[0]);
}

static void test_a_lambda_counts_for_the_function_that_runs_it(void **state)
{
    (void)state;
    static const char *const stacks[] = {"rank()::{lambda}::operator() < std::sort<int*> < rank() < main",
                                         "std::swap<int> < std::sort<int*> < rank() < main"};
    static const double weights[] = {3, 1};
    uint32_t ids[2];
    assert_string_equal(heaviest(stacks, weights, 2, ids).location->function, "rank()");
}

static void test_a_lambda_of_main_counts_for_itself(void **state)
{
    (void)state;
    static const char *const stacks[] = {"main::{lambda}::operator() < std::function<void ()>::operator() < main"};
    static const double weights[] = {1};
    uint32_t ids[1];
    assert_string_equal(heaviest(stacks, weights, 1, ids).location->function, "main::{lambda}::operator()");
}

static void test_a_look_at_the_clock_is_whose_who_looks(void **state)
{
    (void)state;
    uint32_t looks = sbx_scene_stack(scene, "libc:clock_gettime < now_ms < burn < main");
    uint32_t only_start = sbx_scene_stack(scene, "libc:flock < main < libc:__libc_start_call_main < _start");
    assert_leaf(looks, "burn");
    assert_leaf(only_start, "main");
}

static void test_unnamed_leaves_are_counted(void **state)
{
    (void)state;
    static const char *const stacks[] = {"?1 < pcall < main", "?2 < pcall < main", "libc:memcpy < pcall < main"};
    static const double weights[] = {2, 1, 1};
    uint32_t ids[3];
    struct sbx_blame_path path = heaviest(stacks, weights, 3, ids);
    assert_string_equal(path.location->function, "pcall");
    assert_true(path.unnamed_share > 0.74 && path.unnamed_share < 0.76);
    assert_string_equal(path.unnamed_module, "app");
}

static void test_a_script_that_computes_is_not_to_blame_on_what_called_its_interpreter(void **state)
{
    (void)state;
    static const char *const stacks[] = {
        "sqlite:PyNumber_Add < sqlite:_PyEval_EvalFrameDefault < sqlite:PyObject_Call < receive < main",
        "sqlite:_PyEval_EvalFrameDefault < sqlite:PyObject_Call < receive < main"};
    static const double weights[] = {1, 2};
    uint32_t ids[2];
    assert_string_equal(heaviest(stacks, weights, 2, ids).location->function, "_PyEval_EvalFrameDefault");
}

/* Functions without a name are mentioned only if a name nearer the leaf would have been the answer. */
static void test_unnamed_functions_below_a_named_one_hide_no_answer(void **state)
{
    (void)state;
    static const char *const stacks[] = {"libc:write < sqlite:?1 < sqlite:step < load < main",
                                         "sqlite:?2 < sqlite:step < sqlite:?3 < load < main"};
    static const double weights[] = {1, 1};
    uint32_t ids[2];
    struct sbx_blame_path path = heaviest(stacks, weights, 2, ids);
    assert_string_equal(path.location->function, "load");
    assert_true(path.unnamed_share < 0.01);
    for (int i = 0; i < 2; i++) {
        const struct sbx_report *report = sbx_scene_report(scene);
        assert_null(sbx_blame_unnamed_below(report, ids[i], sbx_blame_leaf(report, ids[i])));
    }
}

static void test_without_a_majority_the_heaviest_root_is_followed(void **state)
{
    (void)state;
    static const char *const stacks[] = {"a < one", "b < two", "c < two", "d < three"};
    static const double weights[] = {3, 3, 1, 3};
    uint32_t ids[4];
    struct sbx_blame_path path = heaviest(stacks, weights, 4, ids);
    assert_string_equal(path.location->function, "b");
    assert_true(path.share > 0.29 && path.share < 0.31);
}

static void test_no_weight_is_no_answer(void **state)
{
    (void)state;
    static const char *const stacks[] = {"work < main"};
    static const double weights[] = {0};
    uint32_t ids[1];
    assert_null(heaviest(stacks, weights, 1, ids).location);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_leaf_skips_library_agent_and_language, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_own_code_comes_before_that_of_other_libraries, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_a_scripts_function_that_is_called_main_is_blamed_as_any_other, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(test_a_script_is_not_to_blame_on_what_called_its_interpreter, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(test_a_script_that_computes_is_not_to_blame_on_what_called_its_interpreter,
                                        begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_loops_in_any_module_are_not_to_blame_for_what_they_poll, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(test_unnamed_functions_below_a_named_one_hide_no_answer, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(test_a_handler_that_turns_a_loop_of_its_own_waits_in_it, begin_scene,
                                        end_scene),
        cmocka_unit_test_setup_teardown(test_leaf_takes_what_there_is, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_wholeness_and_allocators_are_seen, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_deepest_majority_wins, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_recursion_and_call_sites_are_merged, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_of_a_function_the_line_is_told_that_most_of_its_time_goes_through,
                                        begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_a_lambda_counts_for_the_function_that_runs_it, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_a_lambda_of_main_counts_for_itself, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_a_look_at_the_clock_is_whose_who_looks, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_unnamed_leaves_are_counted, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_without_a_majority_the_heaviest_root_is_followed, begin_scene, end_scene),
        cmocka_unit_test_setup_teardown(test_no_weight_is_no_answer, begin_scene, end_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
