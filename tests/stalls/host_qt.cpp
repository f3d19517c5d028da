// SPDX-License-Identifier: Apache-2.0
// host_qt.cpp - Qt's event loop, and tasks in its queues. For Qt 5 and for Qt 6.
#include <QtCore/QCoreApplication>
#include <QtCore/QEvent>
#include <QtCore/QMetaMethod>
#include <QtCore/QMutex>
#include <QtCore/QRunnable>
#include <QtCore/QThread>
#include <QtCore/QThreadPool>
#include <QtCore/QTimer>
#include <QtCore/QWaitCondition>

#include <semaphore.h>

#include "stall.h"

namespace
{

const QEvent::Type step_type = static_cast<QEvent::Type>(QEvent::User + 1);
const QEvent::Type thumbnail_type = static_cast<QEvent::Type>(QEvent::User + 2);

STALL_FUNCTION void paint_thumbnail()
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

class Window : public QObject
{
  public:
    int (*the_step)() = nullptr;
    bool event(QEvent *event) override
    {
        if (event->type() == thumbnail_type) {
            paint_thumbnail();
            STALL_STAY();
            return true;
        }
        if (event->type() != step_type) {
            return QObject::event(event);
        }
        int next_ms = the_step();
        if (next_ms < 0) {
            QCoreApplication::quit();
        } else {
            QTimer::singleShot(next_ms, this, [this] { QCoreApplication::postEvent(this, new QEvent(step_type)); });
        }
        return true;
    }
};

Window *window;
QThread *worker;
QObject *in_worker;

// Made at its first use, by a case or by the loop.
void make_application()
{
    static int count = 1;
    static char name[] = "qt", *arguments[] = {name, nullptr};
    if (window == nullptr) {
        new QCoreApplication(count, arguments);
        window = new Window;
    }
}

// ---- posted by a thread ----

STALL_FUNCTION void on_thumbnail_loaded()
{
    QCoreApplication::postEvent(window, new QEvent(thumbnail_type));
    STALL_STAY();
}

void *load_thumbnail(void *unused)
{
    on_thumbnail_loaded();
    return unused;
}

STALL_FUNCTION void open_album(int n)
{
    stall_thread("loader", load_thumbnail, nullptr, nullptr);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- a signal of another thread ----

QObject *download;

STALL_FUNCTION void update_progress()
{
    STALL_COMPUTE_MS(stall_ms);
    STALL_STAY();
}

// The code that moc writes for a signal, here for objectNameChanged(), which every object has.
STALL_FUNCTION void report_progress()
{
    int local = 0;
    const QMetaObject &meta = QObject::staticMetaObject;
    for (int i = 0; i < meta.indexOfSignal("objectNameChanged(QString)"); i++) {
        local += meta.method(i).methodType() == QMetaMethod::Signal;
    }
    QString name;
    void *values[] = {nullptr, &name};
    QMetaObject::activate(download, &meta, local, values);
    STALL_STAY();
}

void *run_download(void *unused)
{
    report_progress();
    return unused;
}

STALL_FUNCTION void start_download(int n)
{
    download = new QObject;
    QObject::connect(
        download, &QObject::objectNameChanged, window, [] { update_progress(); }, Qt::QueuedConnection);
    stall_thread("download", run_download, nullptr, nullptr);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- a call for later ----

STALL_FUNCTION void sync_contacts()
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

STALL_FUNCTION void schedule_sync(int n)
{
    QMetaObject::invokeMethod(
        window, [] { sync_contacts(); }, Qt::QueuedConnection);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- timers ----

STALL_FUNCTION void write_backup()
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

STALL_FUNCTION void arm_backup(int n)
{
    QTimer::singleShot(40, window, [] { write_backup(); });
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

int ticks;

STALL_FUNCTION void draw_clock()
{
    if (++ticks == 3) {
        usleep((useconds_t)stall_ms * 1000);
    }
    STALL_STAY();
}

STALL_FUNCTION void start_clock(int n)
{
    QTimer *timer = new QTimer(window);
    QObject::connect(timer, &QTimer::timeout, window, [] { draw_clock(); });
    timer->start(20);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- two hops ----

void prepare_worker()
{
    make_application();
    worker = new QThread;
    worker->setObjectName("worker");
    in_worker = new QObject;
    in_worker->moveToThread(worker);
    worker->start();
    for (int i = 0; i < 5; i++) {
        QMetaObject::invokeMethod(
            in_worker, [] {}, Qt::BlockingQueuedConnection);
    }
}

STALL_FUNCTION void show_frame()
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

STALL_FUNCTION void decode_frame()
{
    stall_pause_ms(10);
    QMetaObject::invokeMethod(
        window, [] { show_frame(); }, Qt::QueuedConnection);
    STALL_STAY();
}

STALL_FUNCTION void request_frame(int n)
{
    QMetaObject::invokeMethod(
        in_worker, [] { decode_frame(); }, Qt::QueuedConnection);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- a queue that is blocked ----

STALL_FUNCTION void rebuild_dictionary()
{
    usleep((useconds_t)(stall_ms + 200) * 1000);
    STALL_STAY();
}

STALL_FUNCTION void look_up_word(int n)
{
    QMetaObject::invokeMethod(
        in_worker, [] { rebuild_dictionary(); }, Qt::QueuedConnection);
    QMetaObject::invokeMethod(
        in_worker, [] { stall_pause_ms(2); }, Qt::BlockingQueuedConnection);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- a wait for another thread, after work was queued for the waiting thread's own loop ----

QMutex sync_lock;
QWaitCondition sync_asked_for, sync_is_done;
bool sync_asked, sync_done;

STALL_FUNCTION void synchronise_mail()
{
    STALL_COMPUTE_MS(stall_ms);
    STALL_STAY();
}

void *synchronise_when_asked(void *unused)
{
    sync_lock.lock();
    while (!sync_asked) {
        sync_asked_for.wait(&sync_lock);
    }
    sync_lock.unlock();
    synchronise_mail();
    sync_lock.lock();
    sync_done = true;
    sync_is_done.wakeOne();
    sync_lock.unlock();
    return unused;
}

void prepare_sync()
{
    make_application();
    stall_thread("sync", synchronise_when_asked, nullptr, nullptr);
}

STALL_FUNCTION void await_sync()
{
    sync_lock.lock();
    sync_asked = true;
    sync_asked_for.wakeOne();
    while (!sync_done) {
        sync_is_done.wait(&sync_lock);
    }
    sync_lock.unlock();
}

STALL_FUNCTION void sync_with_refresh(int n)
{
    QMetaObject::invokeMethod(
        window, [] { stall_sink = stall_sink + 1; }, Qt::QueuedConnection);
    await_sync();
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

STALL_FUNCTION void sync_with_time_limit(int n)
{
    QTimer::singleShot(3000, window, [] { stall_sink = stall_sink + 1; });
    await_sync();
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- a thread pool ----

QThreadPool *pool;
sem_t page_rendered;

void prepare_pool()
{
    make_application();
    sem_init(&page_rendered, 0, 0);
    pool = new QThreadPool;
    pool->setMaxThreadCount(1);
    for (int i = 0; i < 5; i++) {
        pool->start([] { stall_sink = stall_sink + 1; });
        pool->waitForDone();
    }
}

STALL_FUNCTION void rasterise_page()
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

class Page : public QRunnable
{
  public:
    void run() override
    {
        rasterise_page();
        sem_post(&page_rendered);
        STALL_STAY();
    }
};

STALL_FUNCTION void render_page(int n)
{
    pool->start(new Page);
    sem_wait(&page_rendered);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// From the loop to the pool, and from there to the loop.
STALL_FUNCTION void show_preview()
{
    usleep((useconds_t)stall_ms * 1000);
    STALL_STAY();
}

STALL_FUNCTION void decode_preview()
{
    stall_pause_ms(10);
    QMetaObject::invokeMethod(
        window, [] { show_preview(); }, Qt::QueuedConnection);
    STALL_STAY();
}

STALL_FUNCTION void request_preview(int n)
{
    pool->start([] { decode_preview(); });
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// The same with a pool whose only thread is busy.
STALL_FUNCTION void index_library()
{
    usleep((useconds_t)(stall_ms + 200) * 1000);
    STALL_STAY();
}

STALL_FUNCTION void import_library()
{
    pool->start([] { index_library(); });
    STALL_STAY();
}

STALL_FUNCTION void await_first_page(int n)
{
    import_library();
    pool->start([] { sem_post(&page_rendered); });
    sem_wait(&page_rendered);
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

void fill_pool(int n)
{
    for (int i = 0; i < 100; i++) {
        pool->start([] { stall_sink = stall_sink + 1; });
        pool->start(QRunnable::create([i] { stall_sink = stall_sink + static_cast<uint64_t>(i); }));
    }
    stall_sink = stall_sink + static_cast<uint64_t>(n);
}

// ---- queues that have much to do, and do it ----

void fill_queues(int n)
{
    for (int i = 0; i < 100; i++) {
        QMetaObject::invokeMethod(
            in_worker, [] { stall_sink = stall_sink + 1; }, Qt::QueuedConnection);
        QMetaObject::invokeMethod(
            window, [] { stall_sink = stall_sink + 1; }, Qt::QueuedConnection);
    }
    QTimer::singleShot(n % 7, window, [] {});
}

} // namespace

extern "C" void host_loop(int (*step)(void))
{
    make_application();
    window->the_step = step;
    QCoreApplication::postEvent(window, new QEvent(step_type));
    QCoreApplication::exec();
    if (worker != nullptr) {
        worker->quit();
        worker->wait();
    }
}

extern "C" {
const struct stall stalls_qt[] = {
    {"qt_posted", nullptr, open_album, false, 0, 0},
    {"qt_signal", nullptr, start_download, false, 0, 0},
    {"qt_invoke", nullptr, schedule_sync, false, 0, 0},
    {"qt_timer", nullptr, arm_backup, false, 0, 0},
    {"qt_ticks", nullptr, start_clock, false, 0, 0},
    {"qt_two_hops", prepare_worker, request_frame, false, 0, 0},
    {"qt_queue", prepare_worker, look_up_word, false, 0, 0},
    {"qt_wait_after_event", prepare_sync, sync_with_refresh, false, 0, 0},
    {"qt_wait_after_timer", prepare_sync, sync_with_time_limit, false, 0, 0},
    {"qt_pool_wait", prepare_pool, render_page, false, 0, 0},
    {"qt_pool_two_hops", prepare_pool, request_preview, false, 0, 0},
    {"qt_pool_queue", prepare_pool, await_first_page, false, 0, 0},
    {"healthy_qt_pool", prepare_pool, fill_pool, true, 20, 80},
    {"healthy_qt", prepare_worker, fill_queues, true, 20, 80},
    {nullptr, nullptr, nullptr, false, 0, 0},
};
}
