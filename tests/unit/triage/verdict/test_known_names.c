/* SPDX-License-Identifier: Apache-2.0 */
/* test_known_names.c - what can be concluded from names, and what cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "known_names.h"
#include "runtime_stop.h"

static bool is_base(const char *function, const char *file)
{
    return sbx_is_base_function(&(struct sbx_location){.function = function, .file = file, .named = true});
}

static void test_base_functions_are_the_languages_own(void **state)
{
    (void)state;
    assert_true(is_base("void std::sort<int*>(int*, int*)", NULL));
    assert_true(is_base("__gthread_mutex_lock", NULL));
    assert_true(is_base("lock", "/usr/include/c++/12/bits/std_mutex.h"));
    assert_true(is_base("boost::asio::detail::scheduler::run", "/usr/include/boost/asio/detail/impl/scheduler.ipp"));
    assert_false(is_base("mystd::run(std::string)", "/home/a/mystd.cpp"));
    assert_false(is_base("lock", "/home/a/usr/include/lock.h"));
    assert_false(is_base("standard", NULL));
    assert_true(is_base("WaitEventSetWait", NULL)); /* PostgreSQL's wait for anything */
    assert_false(is_base("LockRelationOid", NULL));
}

static void test_what_only_reads_a_clock_is_no_answer(void **state)
{
    (void)state;
    assert_true(is_base("now", NULL));
    assert_true(is_base("now_ms", NULL));
    assert_true(is_base("app::Clock::nowMs() const", NULL));
    assert_true(is_base("thread_cpu_ns(int)", NULL));
    assert_true(is_base("get_monotonic_time64", NULL));
    assert_true(is_base("app_now_ns", NULL));
    assert_true(is_base("AppReadClock", NULL));
    assert_false(is_base("save_now", NULL));
    assert_false(is_base("wait_ms", NULL));
    assert_false(is_base("set_time", NULL));
    assert_false(is_base("tick", NULL)); /* it handles one event */
    assert_false(is_base("cpu", NULL));
    assert_false(is_base("read_process", NULL));
    assert_false(is_base("update_clock", NULL));
    assert_false(is_base("now_playing", NULL));
    assert_false(is_base("clock::redraw()", NULL));
    assert_true(is_base("_start", NULL)); /* it called main */
    assert_false(is_base("_start_all", NULL));
}

static void test_what_only_queues_is_known_in_an_unnamed_namespace_too(void **state)
{
    (void)state;
    assert_true(sbx_only_queues("Pool::submit(std::function<void ()>)"));
    assert_true(sbx_only_queues("(anonymous namespace)::Pool::submit(std::function<void ()>)"));
    assert_true(sbx_only_queues("void (anonymous namespace)::post_task<int>(int)"));
    assert_false(sbx_only_queues("(anonymous namespace)::render_preview(int)"));
    assert_false(sbx_only_queues("render((anonymous namespace)::post const&)"));
    assert_true(is_base("(anonymous namespace)::now_ms()", NULL));
}

static void test_children_are_told_from_polls(void **state)
{
    (void)state;
    assert_true(sbx_is_child_function("node::SyncProcessRunner::Spawn(v8::FunctionCallbackInfo<v8::Value> const&)"));
    assert_true(sbx_is_child_function("QProcess::waitForFinished(int)"));
    assert_true(sbx_is_child_function("java.lang.ProcessImpl.waitFor"));
    assert_false(sbx_is_child_function("spawn_particles"));
}

static void test_a_lambda_is_known_by_where_it_was_written(void **state)
{
    (void)state;
    assert_true(
        sbx_is_lambda_of("shop::rank(int)::{lambda(int, int)#1}::operator()(int, int) const", "shop::rank(int)"));
    assert_true(sbx_is_lambda_of("shop::rank()::{lambda}::operator()", "shop::rank()"));
    assert_true(sbx_is_lambda_of("rank::{lambda}::operator()", "rank"));
    assert_true(sbx_is_lambda_of("rank(int)::<lambda(int)>::operator()", "rank(int)"));
    assert_true(
        sbx_is_lambda_of("(anonymous namespace)::rank::{lambda}::operator()", "(anonymous namespace)::rank(int)"));
    assert_false(
        sbx_is_lambda_of("(anonymous namespace)::rank::{lambda}::operator()", "(anonymous namespace)::sort(int)"));
    assert_false(sbx_is_lambda_of("rank_all()::{lambda}::operator()", "rank()"));
    assert_false(sbx_is_lambda_of("rank(int)", "rank(int)"));
    assert_false(sbx_is_lambda_of("operator()", "rank(int)"));
}

static void test_base_modules_are_known_by_either_name_but_never_the_application(void **state)
{
    (void)state;
    struct sbx_stall_module system = {.kind = SBX_MODULE_KIND_SYSTEM}, app = {.kind = SBX_MODULE_KIND_APP};
    assert_true(sbx_is_base_module(&system, "libuv.so.1"));
    assert_true(sbx_is_base_module(&system, "libglib-2.0.so.0"));
    assert_false(sbx_is_base_module(&system, "libsqlite3.so.0"));
    assert_false(sbx_is_base_module(&app, "libevent-of-mine"));
    system.name = "libc.so.6";
    assert_true(sbx_is_base_module(&system, "build-id 01234567"));
}

static void test_loops_are_known_by_whole_names(void **state)
{
    (void)state;
    assert_true(sbx_is_loop_function("g_main_loop_run"));
    assert_true(sbx_is_loop_function("QEventLoop::exec(QFlags<QEventLoop::ProcessEventsFlag>)"));
    assert_false(sbx_is_loop_function("uv_run_all_of_it"));
    assert_false(sbx_is_loop_function("main"));
}

static void test_collectors_tell_their_runtime(void **state)
{
    (void)state;
    assert_string_equal(sbx_collector_of("v8::internal::Heap::CollectGarbage(v8::internal::AllocationSpace)"), "V8");
    assert_string_equal(sbx_collector_of("gc_collect_main"), "CPython");
    assert_string_equal(sbx_collector_of("luaC_fullgc"), "Lua");
    assert_null(sbx_collector_of("collect_garbage_bins"));
    assert_null(sbx_collector_of("v8::internal::Execution::Call"));
}

static void test_libc_functions_are_known_under_all_their_names(void **state)
{
    (void)state;
    assert_int_equal(sbx_cause_of_libc_function("read"), SBX_CAUSE_IO);
    assert_int_equal(sbx_cause_of_libc_function("__GI___libc_read"), SBX_CAUSE_IO);
    assert_int_equal(sbx_cause_of_libc_function("__open64_nocancel"), SBX_CAUSE_IO);
    assert_int_equal(sbx_cause_of_libc_function("getdents64"), SBX_CAUSE_IO);
    assert_int_equal(sbx_cause_of_libc_function("__libc_sendto"), SBX_CAUSE_NETWORK);
    assert_int_equal(sbx_cause_of_libc_function("__munmap"), SBX_CAUSE_MEMORY);
    assert_int_equal(sbx_cause_of_libc_function("__vfork"), SBX_CAUSE_IPC);
    assert_int_equal(sbx_cause_of_libc_function("memcpy"), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_libc_function("readline"), SBX_CAUSE_UNKNOWN);
}

static void test_who_uses_a_futex_says_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(sbx_cause_of_futex_user("g_mutex_lock_slowpath"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_futex_user("std::sys::sync::mutex::futex::Mutex::lock_contended"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_futex_user("parking_lot::raw_mutex::RawMutex::lock_slow"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_futex_user("__lll_lock_wait_private"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_futex_user("takeSpinLock()"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_futex_user("std::sys::sync::condvar::futex::Condvar::wait"), SBX_CAUSE_WAIT);
    assert_int_equal(sbx_cause_of_futex_user("g_cond_wait"), SBX_CAUSE_WAIT);
    assert_int_equal(sbx_cause_of_futex_user("std::__atomic_futex_unsigned_base::_M_futex_wait_until(unsigned int*)"),
                     SBX_CAUSE_WAIT);
    assert_int_equal(sbx_cause_of_futex_user("show_clock"), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_futex_user("unblock_all"), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_futex_user("syscall"), SBX_CAUSE_UNKNOWN);
}

static void test_buses_and_lookups_are_told_from_sockets(void **state)
{
    (void)state;
    assert_true(sbx_is_bus_function("dbus_connection_send_with_reply_and_block"));
    assert_true(sbx_is_bus_function("g_dbus_connection_call_sync"));
    assert_false(sbx_is_bus_function("busy_wait"));
    assert_true(sbx_is_lookup_function("getaddrinfo"));
    assert_true(sbx_is_lookup_function("__res_context_send"));
    assert_false(sbx_is_lookup_function("get_address"));
}

static void test_interpreters_are_known_by_their_executable(void **state)
{
    (void)state;
    assert_true(sbx_is_interpreter("python3.11"));
    assert_true(sbx_is_interpreter("node"));
    assert_false(sbx_is_interpreter("redis-server"));
}

static void test_the_call_itself_says_nothing_of_a_futex(void **state)
{
    (void)state;
    assert_int_equal(sbx_cause_of_futex_user("futex_wait"), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_futex_user("__futex_abstimed_wait_common64"), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_futex_user("std::sys::pal::unix::futex::futex_wait"), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_futex_user("std::sys::sync::mutex::futex::Mutex::lock_contended"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_futex_user("__lll_lock_wait"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_futex_user("__pthread_cond_wait_common"), SBX_CAUSE_WAIT);
}

static void test_the_lock_of_a_runtime_is_known_by_who_takes_it(void **state)
{
    (void)state;
    assert_string_equal(sbx_interpreter_lock_of("PyEval_RestoreThread"), "CPython");
    assert_string_equal(sbx_interpreter_lock_of("gvl_acquire"), "CRuby");
    assert_null(sbx_interpreter_lock_of("PyThread_acquire_lock_timed")); /* a lock of the script itself */
    assert_null(sbx_interpreter_lock_of("pthread_cond_wait"));
}

static void test_scripts_are_known_by_what_runs_them(void **state)
{
    (void)state;
    assert_string_equal(sbx_script_language_of("_PyEval_EvalFrameDefault"), "Python");
    assert_string_equal(sbx_script_language_of("Builtins_InterpreterEntryTrampoline"), "JavaScript");
    assert_string_equal(sbx_script_language_of("luaV_execute"), "Lua");
    assert_null(sbx_script_language_of("PyObject_Vectorcall")); /* calls functions of C as well */
    assert_non_null(sbx_remark_on_function("sqlite3InvokeBusyHandler"));
    assert_non_null(sbx_remark_on_function("ProcSleep"));
    assert_null(sbx_remark_on_function("sqlite3_step"));
}

static void test_what_comes_with_a_jdk_is_no_answer(void **state)
{
    (void)state;
    static const char *const library[] = {"java.lang.Thread.sleep", "jdk.internal.misc.Unsafe.park",
                                          "sun.nio.ch.EPollSelectorImpl.doSelect", "App$$Lambda.run",
                                          "javax.net.ssl.SSLSocket.<init>"};
    static const char *const own[] = {"App.main", "javafish.Pond.feed", "com.sunny.Shop.buy", "App.lambda$main$0"};
    for (size_t i = 0; i < sizeof library / sizeof *library; i++) {
        assert_true(sbx_is_runtime_library(
            &(struct sbx_location){.function = library[i], .module = "java", .file = "", .named = true}));
        assert_false(sbx_is_runtime_library(
            &(struct sbx_location){.function = library[i], .module = "lua", .file = "", .named = true}));
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_false(sbx_is_runtime_library(
            &(struct sbx_location){.function = own[i], .module = "java", .file = "", .named = true}));
    }
}

static void test_the_library_of_python_is_told_by_its_files(void **state)
{
    (void)state;
    static const char *const library[] = {"python3.11/asyncio/events.py", "<frozen importlib._bootstrap>", "<gc>"};
    static const char *const own[] = {"app.py", "flask/app.py", "<string>", "python3/app.py"};
    for (size_t i = 0; i < sizeof library / sizeof *library; i++) {
        assert_true(sbx_is_runtime_library(
            &(struct sbx_location){.function = "run", .module = "python", .file = library[i], .named = true}));
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        assert_false(sbx_is_runtime_library(
            &(struct sbx_location){.function = "run", .module = "python", .file = own[i], .named = true}));
    }
    assert_false(sbx_is_runtime_library(
        &(struct sbx_location){.function = "run", .module = "python", .file = NULL, .named = true}));
    assert_string_equal(sbx_collector_of("(garbage collection)"), "CPython");
}

static void test_the_library_of_node_is_told_by_its_files(void **state)
{
    (void)state;
    struct sbx_location location = {.function = "run", .module = "javascript", .file = "node:fs", .named = true};
    assert_true(sbx_is_runtime_library(&location));
    location.file = "node_modules/express/lib/router.js";
    assert_false(sbx_is_runtime_library(&location));
    location.file = NULL;
    assert_false(sbx_is_runtime_library(&location));
    assert_string_equal(sbx_collector_of("(garbage collector)"), "V8");
}

static void test_what_hands_work_to_other_threads_is_known_in_a_runtimes_library(void **state)
{
    (void)state;
    static const struct sbx_location handing[] = {
        {.function = "java.util.concurrent.locks.LockSupport.unpark", .module = "java", .file = "", .named = true},
        {.function = "java.util.concurrent.ForkJoinPool.signalWork", .module = "java", .file = "", .named = true},
        {.function = "jdk.internal.misc.Unsafe.unpark", .module = "java", .file = "", .named = true},
        {.function = "java.lang.Thread.start", .module = "java", .file = "", .named = true},
        {.function = "submit", .module = "python", .file = "python3.11/concurrent/futures/thread.py", .named = true},
        {.function = "put", .module = "python", .file = "python3.11/queue.py", .named = true},
    };
    static const struct sbx_location others[] = {
        {.function = "sun.net.httpserver.ServerImpl$Dispatcher.run", .module = "java", .file = "", .named = true},
        {.function = "shop.Queue.offer", .module = "java", .file = "", .named = true},
        {.function = "run_in_executor", .module = "python", .file = "python3.11/asyncio/base_events.py", .named = true},
        {.function = "put", .module = "python", .file = "shop/queue.py", .named = true},
        {.function = "put", .module = "lua", .file = "queue.lua", .named = true},
    };
    for (size_t i = 0; i < sizeof handing / sizeof *handing; i++) {
        assert_true(sbx_is_handing_library(&handing[i]));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(sbx_is_handing_library(&others[i]));
    }
}

static void test_what_a_condition_of_hotspots_is_for(void **state)
{
    (void)state;
    assert_int_equal(sbx_cause_of_runtime_wait("java.lang.Thread.sleep"), SBX_CAUSE_SLEEP);
    assert_int_equal(sbx_cause_of_runtime_wait("ObjectMonitor::EnterI(JavaThread*)"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_runtime_wait("java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire"),
                     SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_runtime_wait("java.util.concurrent.CountDownLatch.await"), SBX_CAUSE_WAIT);
    assert_int_equal(sbx_cause_of_runtime_wait("ProcSleep"), SBX_CAUSE_LOCK);
    assert_int_equal(sbx_cause_of_runtime_wait("pg_sleep"), SBX_CAUSE_SLEEP);
    assert_int_equal(sbx_cause_of_runtime_wait("WaitLatch"), SBX_CAUSE_UNKNOWN);
    assert_int_equal(sbx_cause_of_runtime_wait("ObjectMonitor::wait(long, bool, JavaThread*)"), SBX_CAUSE_UNKNOWN);
    assert_true(sbx_is_class_initialisation("InstanceKlass::initialize_impl(JavaThread*)"));
    assert_false(sbx_is_class_initialisation("InstanceKlass::initialize_super"));
    assert_string_equal(sbx_collector_of("SafepointSynchronize::block(JavaThread*)"), "HotSpot");
    assert_int_equal(sbx_runtime_operation_bytes("VM_G1CollectFull::doit()"), strlen("VM_G1CollectFull"));
    assert_int_equal(sbx_runtime_operation_bytes("VM_Operation::evaluate()"), 0);
    assert_int_equal(sbx_runtime_operation_bytes("App::doit()"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base_functions_are_the_languages_own),
        cmocka_unit_test(test_what_only_reads_a_clock_is_no_answer),
        cmocka_unit_test(test_what_only_queues_is_known_in_an_unnamed_namespace_too),
        cmocka_unit_test(test_children_are_told_from_polls),
        cmocka_unit_test(test_a_lambda_is_known_by_where_it_was_written),
        cmocka_unit_test(test_base_modules_are_known_by_either_name_but_never_the_application),
        cmocka_unit_test(test_loops_are_known_by_whole_names),
        cmocka_unit_test(test_collectors_tell_their_runtime),
        cmocka_unit_test(test_libc_functions_are_known_under_all_their_names),
        cmocka_unit_test(test_who_uses_a_futex_says_what_it_is),
        cmocka_unit_test(test_buses_and_lookups_are_told_from_sockets),
        cmocka_unit_test(test_interpreters_are_known_by_their_executable),
        cmocka_unit_test(test_the_call_itself_says_nothing_of_a_futex),
        cmocka_unit_test(test_the_lock_of_a_runtime_is_known_by_who_takes_it),
        cmocka_unit_test(test_scripts_are_known_by_what_runs_them),
        cmocka_unit_test(test_what_comes_with_a_jdk_is_no_answer),
        cmocka_unit_test(test_the_library_of_python_is_told_by_its_files),
        cmocka_unit_test(test_the_library_of_node_is_told_by_its_files),
        cmocka_unit_test(test_what_hands_work_to_other_threads_is_known_in_a_runtimes_library),
        cmocka_unit_test(test_what_a_condition_of_hotspots_is_for),
    };
    return cmocka_run_group_tests_name("known_names", tests, NULL, NULL);
}
