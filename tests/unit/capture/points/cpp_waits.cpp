/* SPDX-License-Identifier: Apache-2.0 */
/* cpp_waits.cpp - the wait functions of C++ programs; called by test_point_foreign.c. */
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <thread>

extern "C" {
void say_about_to_wait(void);
void let_them_wait(int count);
void child_expect(bool holds, const char *what);
void child_wait_for_all_rows(void);
void cpp_wait_for_mutex(void);
void cpp_release_mutex(void);
void cpp_wait_for_condition(void);
void cpp_notify(void);
void cpp_wait_for_semaphore(void);
void cpp_release_semaphore(void);
void cpp_join(std::thread *thread);
void child_waits_in_cpp(void);
}

namespace {
std::mutex mutex;
std::condition_variable condition;
bool is_ready;
std::counting_semaphore<4> semaphore(0);
} // namespace

#define KEEP_FRAME() __asm__ volatile("")

__attribute__((noinline)) void cpp_wait_for_mutex(void)
{
    say_about_to_wait();
    std::lock_guard<std::mutex> hold(mutex);
    KEEP_FRAME();
}

__attribute__((noinline)) void cpp_release_mutex(void)
{
    mutex.unlock();
    KEEP_FRAME();
}

__attribute__((noinline)) void cpp_wait_for_condition(void)
{
    std::unique_lock<std::mutex> hold(mutex);
    say_about_to_wait();
    condition.wait(hold, [] { return is_ready; });
    KEEP_FRAME();
}

__attribute__((noinline)) void cpp_notify(void)
{
    std::lock_guard<std::mutex> hold(mutex);
    is_ready = true;
    condition.notify_one();
    KEEP_FRAME();
}

__attribute__((noinline)) void cpp_wait_for_semaphore(void)
{
    say_about_to_wait();
    semaphore.acquire(); /* futex(2) through syscall(), or sem_wait(): depends on how the library was built */
    KEEP_FRAME();
}

__attribute__((noinline)) void cpp_release_semaphore(void)
{
    semaphore.release();
    KEEP_FRAME();
}

__attribute__((noinline)) void cpp_join(std::thread *thread)
{
    thread->join();
    KEEP_FRAME();
}

void child_waits_in_cpp(void)
{
    child_wait_for_all_rows(); // libstdc++'s rows: its threads begin in it
    mutex.lock();
    std::thread thread([] {
        cpp_wait_for_mutex();
        cpp_wait_for_condition();
        cpp_wait_for_semaphore();
        let_them_wait(1); /* until another thread joins us */
    });
    let_them_wait(1);
    cpp_release_mutex();
    let_them_wait(1);
    cpp_notify();
    let_them_wait(1);
    cpp_release_semaphore();
    say_about_to_wait();
    cpp_join(&thread);
    try { /* an exception passes through frames of our hooks */
        std::unique_lock<std::mutex> hold(mutex);
        throw 7;
    } catch (int number) {
        child_expect(number == 7 && mutex.try_lock(), "the exception has given the mutex back");
        mutex.unlock();
    }
}
