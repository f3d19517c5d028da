// SPDX-License-Identifier: Apache-2.0
// qt_pool_work.cpp - a program's use of Qt's thread pools (test_point_qt_pool.c); for Qt 5 and for Qt 6.
#include <QtConcurrent/QtConcurrentRun>
#include <QtCore/QRunnable>
#include <QtCore/QSemaphore>
#include <QtCore/QThread>
#include <QtCore/QThreadPool>

#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <stdexcept>
#include <typeinfo>
#include <utility>

#include "qt_pool_work.h"

#define OWN_PLACE __attribute__((noinline, aligned(512)))
#define KEEP_FRAME() __asm__ volatile("")

extern "C" void child_expect(bool holds, const char *what);
extern "C" void child_pause_ms(long ms);

namespace {

std::atomic<int> ran, destroyed, numbers_ran;
QSemaphore gate, entered;

class Work : public QRunnable {
public:
    int value = 42;
    ~Work() override { destroyed++; }
    void run() override
    {
        child_expect(value == 42, "the work is the program's");
        ran++;
        child_pause_ms(3);
    }
};

class Named {
public:
    virtual ~Named() = default;
    virtual const char *name() const { return "named"; }
    int number = 7;
};

// Its run() is reached through a second vtable, and by a thunk.
class Both : public Named, public QRunnable {
public:
    ~Both() override { destroyed++; }
    void run() override
    {
        child_expect(number == 7, "the object is found from its second base");
        ran++;
        child_pause_ms(3);
    }
};

// Holds the only thread of a pool until the gate opens.
class Holder : public QRunnable {
public:
    void run() override
    {
        entered.release();
        gate.acquire();
    }
};

class Thrower : public QRunnable {
public:
    void run() override
    {
        child_pause_ms(3);
        throw std::runtime_error("out of the work");
    }
};

void hold(QThreadPool &pool)
{
    pool.setMaxThreadCount(1);
    pool.start(new Holder);
    entered.acquire();
}

void let_go(QThreadPool &pool)
{
    gate.release();
    child_expect(pool.waitForDone(60000), "the pool comes to an end");
}

void *vtable_of(const void *object)
{
    return *static_cast<void *const *>(object);
}

// Is the mapping that holds the address writable?
bool is_writable(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    char line[512], may[5];
    std::uint64_t begin, end;
    while (maps != nullptr && fgets(line, sizeof line, maps) != nullptr) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, may) == 3 &&
            begin <= reinterpret_cast<std::uint64_t>(address) && reinterpret_cast<std::uint64_t>(address) < end) {
            found = may[1] == 'w';
        }
    }
    if (maps != nullptr) {
        fclose(maps);
    }
    return found;
}

template <int number> class Numbered : public QRunnable {
public:
    void run() override
    {
        numbers_ran += number; // the code of each is different
        ran++;
    }
};

template <int... numbers> void start_each(QThreadPool &pool, std::integer_sequence<int, numbers...>)
{
    (pool.start(new Numbered<numbers + 1>), ...);
}

} // namespace

extern "C" OWN_PLACE void qt_start_runnable_here(void *pool)
{
    static_cast<QThreadPool *>(pool)->start(new Work);
    KEEP_FRAME();
}

extern "C" OWN_PLACE void qt_start_function_here(void *pool)
{
    std::array<int, 12> large{};
    large[11] = 5;
    static_cast<QThreadPool *>(pool)->start([large] {
        child_expect(large[11] == 5, "what the function keeps is the program's");
        ran++;
        child_pause_ms(3);
    });
    KEEP_FRAME();
}

extern "C" OWN_PLACE void qt_run_concurrently_here(void *pool)
{
    QFuture<int> future = QtConcurrent::run(static_cast<QThreadPool *>(pool), [] {
        ran++;
        child_pause_ms(3);
        return 17;
    });
    while (!future.isFinished()) { // by the pool's thread: a thread that waits for it may run the work itself
        child_pause_ms(1);
    }
    child_expect(future.result() == 17, "its result");
    KEEP_FRAME();
}

extern "C" void child_starts_each_sort(void)
{
    QThreadPool pool;
    qt_start_runnable_here(&pool);
    qt_start_function_here(&pool);
    qt_run_concurrently_here(&pool);
    child_expect(pool.waitForDone(60000), "the pool comes to an end");
    child_expect(ran == 3 && destroyed == 1, "each is run once, and deleted");
    int kept = 9;
    pool.start([&kept] { kept++; });
    pool.waitForDone();
    child_expect(kept == 10, "a function that keeps little is run once");
    pool.start(new Both);
    child_expect(pool.waitForDone(60000) && ran == 4 && destroyed == 2, "what has its run() in a second vtable is run too");
    QRunnable *created = QRunnable::create([] { ran++; });
    created->setAutoDelete(false);
    pool.start(created);
    pool.waitForDone();
    pool.start(created);
    child_expect(pool.waitForDone(60000) && ran == 6, "what is kept may be started once more");
    created->run();
    child_expect(ran == 7, "or run without a pool");
    delete created;
}

extern "C" void child_takes_work_back(void)
{
    QThreadPool pool;
    hold(pool);
    Work kept;
    kept.setAutoDelete(false);
    pool.start(&kept);
    child_expect(pool.tryTake(&kept), "it is taken back");
    child_expect(!pool.tryTake(&kept), "once");
    child_expect(!pool.tryStart(&kept), "there is no thread for it");
    child_expect(!pool.tryStart([] { ran++; }), "nor for a function");
    for (int i = 0; i < 20; i++) {
        qt_start_runnable_here(&pool);
        qt_start_function_here(&pool);
    }
    pool.clear();
    child_expect(destroyed == 20, "what is cleared is deleted");
    pool.start(&kept);
    let_go(pool);
    child_expect(ran == 1, "what was started after that is run");
}

extern "C" void child_compares(void)
{
    QThreadPool pool;
    Both kept;
    kept.setAutoDelete(false);
    QRunnable *as_work = &kept;
    void (QRunnable::*run)() = &QRunnable::run;
    void *vtable = vtable_of(as_work), *other_vtable = vtable_of(static_cast<Named *>(&kept));
    hold(pool);
    pool.start(as_work);
    child_expect(vtable_of(as_work) == vtable && vtable_of(static_cast<Named *>(&kept)) == other_vtable,
                 "the object is not touched");
    child_expect(typeid(*as_work) == typeid(Both) && dynamic_cast<Both *>(as_work) == &kept &&
                     dynamic_cast<Named *>(as_work)->name() == kept.name() && !as_work->autoDelete(),
                 "it is what it was");
    child_expect(pool.tryTake(as_work), "it is known by its address");
    (as_work->*run)();
    child_expect(ran == 1, "a pointer to a member leads there");
    for (int i = 0; i < 1000 && is_writable(vtable); i++) {
        child_pause_ms(5); // the recorder may be working at that module's slots
    }
    child_expect(!is_writable(vtable), "its vtable is read-only");
    let_go(pool);
}

extern "C" void child_throws_out_of_work(void)
{
    QThreadPool pool;
    Thrower thrower;
    thrower.setAutoDelete(false);
    hold(pool);
    pool.start(&thrower);
    int caught = 0;
    child_expect(pool.tryTake(&thrower), "it is taken back");
    try {
        static_cast<QRunnable *>(&thrower)->run();
    } catch (const std::runtime_error &) {
        caught++;
    }
    let_go(pool);
    QFuture<void> future = QtConcurrent::run(&pool, []() { throw QUnhandledException(); });
    try {
        future.waitForFinished();
    } catch (const QUnhandledException &) {
        caught++;
    }
    child_expect(caught == 2, "what is thrown comes where it always came");
    qt_start_runnable_here(&pool);
    child_expect(pool.waitForDone(60000) && ran == 1, "and the next work is run");
}

// Work that starts work in the same pool of one thread, and waits for it: Qt lets the waiting thread run it.
extern "C" void child_waits_inside_of_work(void)
{
    QThreadPool pool;
    pool.setMaxThreadCount(1);
    QFuture<int> outer = QtConcurrent::run(&pool, [&pool] {
        QFuture<int> inner = QtConcurrent::run(&pool, [] {
            ran++;
            child_pause_ms(3);
            return 20;
        });
        inner.waitForFinished();
        return inner.result() + 1;
    });
    while (!outer.isFinished()) {
        child_pause_ms(1);
    }
    child_expect(outer.result() == 21 && ran == 1, "both are run");
    pool.waitForDone();
}

extern "C" void child_floods_a_pool(void)
{
    QThreadPool pool;
    hold(pool);
    for (int i = 0; i < QT_POOL_FLOOD / 3; i++) {
        pool.start(new Numbered<1>);
        pool.start([] { ran++; });
        pool.start([i] { ran += i >= 0; });
    }
    let_go(pool);
    child_expect(ran == QT_POOL_FLOOD, "all of it is run");
}

extern "C" void child_has_many_classes(void)
{
    QThreadPool pool;
    start_each(pool, std::make_integer_sequence<int, 200>());
    child_expect(pool.waitForDone(60000) && ran == 200 && numbers_ran == 200 * 201 / 2, "each is run");
}

extern "C" void child_starts_and_waits(void)
{
    QThreadPool pool;
    switch_group(1);
    qt_start_runnable_here(&pool); // the recorder intercepts its class now
    pool.waitForDone();
    switch_group(0);
    qt_start_runnable_here(&pool);
    qt_start_function_here(&pool);
    child_expect(pool.waitForDone(60000) && ran == 3, "all of it is run");
}
