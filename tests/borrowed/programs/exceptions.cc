/* SPDX-License-Identifier: Apache-2.0 */
/* exceptions.cc - C++ exceptions that leave callbacks of the C library, from several threads at once. */
#include <dlfcn.h>
#include <ftw.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tap.h"

enum {
    THREADS = 6,
    ROUNDS = 400
};
static std::atomic<long> alive;

struct Guard {
    Guard()
    {
        alive++;
    }
    ~Guard()
    {
        alive--;
    }
};

[[noreturn]] static void fail(const char *where)
{
    Guard guard;
    std::string text(40, 'x');
    usleep(20);
    throw std::runtime_error(where);
}

static int compare(const void *, const void *)
{
    Guard guard;
    fail("compare");
}

static int visit_file(const char *, const struct stat *, int, struct FTW *)
{
    Guard guard;
    fail("nftw");
}

static ssize_t write_cookie(void *, const char *, size_t)
{
    Guard guard;
    fail("cookie");
}

static void initialize()
{
    Guard guard;
    fail("once");
}

static void from_qsort()
{
    int numbers[] = {5, 3, 8, 1};
    qsort(numbers, 4, sizeof numbers[0], compare);
}

static void from_bsearch()
{
    int numbers[] = {1, 2, 3}, key = 2;
    bsearch(&key, numbers, 3, sizeof key, compare);
}

static void from_once()
{
    pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialize);
}

static void from_cookie()
{
    FILE *stream = fopencookie(nullptr, "w", {nullptr, write_cookie, nullptr, nullptr});
    setvbuf(stream, nullptr, _IONBF, 0);
    fputs("x", stream); // the stream and its lock are lost, as without the recorder
}

static void from_nftw()
{
    nftw("/proc/self/fd", visit_file, 4, FTW_PHYS);
}

static void from_allocations()
{
    std::vector<std::string> texts;
    for (int i = 0; i < 50; i++) {
        texts.emplace_back(100 + i, 'y');
    }
    fail("allocations");
}

static void from_forced_allocation()
{
    Guard guard;
    volatile size_t much = static_cast<size_t>(-1) / 4;
    char *volatile block = new char[much];
    delete[] block;
}

struct Kind {
    const char *name;
    void (*call)();
    int rounds;
};

int main()
{
    const Kind kinds[] = {{"qsort", from_qsort, ROUNDS},
                          {"bsearch", from_bsearch, ROUNDS},
                          {"pthread_once", from_once, ROUNDS},
                          {"fopencookie", from_cookie, 40},
                          {"nftw", from_nftw, 40},
                          {"allocations", from_allocations, ROUNDS},
                          {"bad_alloc", from_forced_allocation, ROUNDS}};
    for (const Kind &kind : kinds) {
        std::atomic<long> caught{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < THREADS; i++) {
            threads.emplace_back([&] {
                for (int round = 0; round < kind.rounds; round++) {
                    try {
                        Guard guard;
                        kind.call();
                    } catch (const std::exception &) {
                        caught++;
                    }
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
        tap_equal(kind.name, caught, static_cast<long>(THREADS) * kind.rounds);
        tap_equal("nothing left on a stack", alive, 0);
    }
    _exit(tap_end()); // not exit(): it would write the lost streams once more
}
