// SPDX-License-Identifier: Apache-2.0
// qt_tasks.cpp - a program's use of Qt's queues (test_point_qt.c); for Qt 5 and for Qt 6.
#include <QtCore/QCoreApplication>
#include <QtCore/QEvent>
#include <QtCore/QMetaMethod>
#include <QtCore/QThread>
#include <QtCore/QTimer>

#include <atomic>
#include <stdexcept>

#include "qt_tasks.h"

#define OWN_PLACE __attribute__((noinline, aligned(512)))
#define KEEP_FRAME() __asm__ volatile("")

extern "C" void child_expect(bool holds, const char *what);
extern "C" void child_pause_ms(long ms);
extern "C" void child_wait_for_all_rows(void);

namespace {

const QEvent::Type own_type = static_cast<QEvent::Type>(QEvent::User + 7);
std::atomic<int> delivered, destroyed, called, ticked;

class OwnEvent : public QEvent {
public:
    OwnEvent() : QEvent(own_type) {}
    ~OwnEvent() override { destroyed++; }
    int value = 42;
};

class Receiver : public QObject {
public:
    bool throws = false;
    bool event(QEvent *event) override
    {
        if (event->type() != own_type) {
            return QObject::event(event);
        }
        child_expect(static_cast<OwnEvent *>(event)->value == 42, "the event is the program's");
        delivered++;
        child_pause_ms(3);
        if (throws) {
            throw std::runtime_error("out of the event");
        }
        return true;
    }
    void timerEvent(QTimerEvent *event) override
    {
        child_pause_ms(3);
        if (++ticked == 3) {
            killTimer(event->timerId());
        }
    }
};

class Application : public QCoreApplication {
public:
    using QCoreApplication::QCoreApplication;
    int notified = 0, caught = 0;
    bool notify(QObject *receiver, QEvent *event) override
    {
        notified++;
        try {
            return QCoreApplication::notify(receiver, event);
        } catch (const std::runtime_error &) {
            caught++;
            return false;
        }
    }
};

int argument_count = 1;
char program_name[] = "qt", *arguments[] = {program_name, nullptr};

// The code that moc writes for `emit sender->objectNameChanged(name)`.
void emit_name_changed(QObject *sender, QString name)
{
    static const int index = QObject::staticMetaObject.indexOfSignal("objectNameChanged(QString)");
    int local = 0;
    for (int i = 0; i < index; i++) {
        local += QObject::staticMetaObject.method(i).methodType() == QMetaMethod::Signal;
    }
    void *values[] = {nullptr, &name};
    QMetaObject::activate(sender, &QObject::staticMetaObject, local, values);
}

void run_until(const std::atomic<int> &count, int wanted)
{
    for (int i = 0; i < 4000 && count < wanted; i++) {
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
    }
    child_expect(count == wanted, "it is done, as often as it was asked for");
}

} // namespace

// The recorder learns from the first delivered events where Qt stores posted events.
extern "C" OWN_PLACE void qt_deliver_some(QObject *receiver)
{
    child_wait_for_all_rows();
    for (int i = 0; i < 8; i++) {
        QCoreApplication::postEvent(receiver, new QEvent(QEvent::User));
        QCoreApplication::processEvents();
    }
}

extern "C" OWN_PLACE void qt_post_here(void *receiver)
{
    QCoreApplication::postEvent(static_cast<QObject *>(receiver), new OwnEvent);
    KEEP_FRAME();
}

extern "C" OWN_PLACE void qt_invoke_here(void *receiver)
{
    QMetaObject::invokeMethod(static_cast<QObject *>(receiver), [] { called++; child_pause_ms(3); }, Qt::QueuedConnection);
    KEEP_FRAME();
}

extern "C" OWN_PLACE void qt_emit_here(void *sender)
{
    emit_name_changed(static_cast<QObject *>(sender), QStringLiteral("named"));
    KEEP_FRAME();
}

extern "C" OWN_PLACE void qt_start_here(void *receiver)
{
    static_cast<QObject *>(receiver)->startTimer(2);
    KEEP_FRAME();
}

extern "C" OWN_PLACE void qt_shoot_here(void *receiver)
{
    QTimer::singleShot(1, static_cast<QObject *>(receiver), [] { ticked++; child_pause_ms(3); });
    KEEP_FRAME();
}

// One thread, and one task of each kind.
extern "C" void child_uses_one_queue(void)
{
    Application application(argument_count, arguments);
    Receiver receiver;
    QObject sender;
    qt_deliver_some(&receiver);
    QObject::connect(&sender, &QObject::objectNameChanged, &receiver, [](const QString &name) {
        child_expect(name == QLatin1String("named"), "the signal's values are the program's");
        called++;
        child_pause_ms(3);
    }, Qt::QueuedConnection);
    qt_post_here(&receiver);
    run_until(delivered, 1);
    child_expect(destroyed == 1, "an event that was delivered is destroyed");
    qt_invoke_here(&receiver);
    run_until(called, 1);
    qt_emit_here(&sender);
    run_until(called, 2);
    qt_start_here(&receiver);
    run_until(ticked, 3);
    qt_shoot_here(&receiver);
    run_until(ticked, 4);
    child_expect(application.notified > 0, "the application's own notify() is called");
}

// To another thread and back.
extern "C" void child_uses_two_queues(void)
{
    Application application(argument_count, arguments);
    QThread thread;
    Receiver there, here;
    QObject sender;
    QObject::connect(&sender, &QObject::objectNameChanged, &there, [] { called++; }, Qt::AutoConnection);
    there.moveToThread(&thread);
    thread.start();
    for (int i = 0; i < 50; i++) {
        qt_post_here(&there);
        qt_post_here(&here);
        qt_emit_here(&sender);
        qt_invoke_here(&there);
    }
    QMetaObject::invokeMethod(&there, [] { called++; }, Qt::BlockingQueuedConnection);
    run_until(delivered, 100);
    child_expect(called == 101, "what was queued before a call that waits came before it");
    thread.quit();
    child_expect(thread.wait(20000), "the thread ends");
    child_expect(destroyed == 100, "each event is destroyed once");
}

// Tasks that never run: removed, its receiver deleted, its timer stopped. And tasks posted during a direct signal call.
extern "C" void child_takes_back(void)
{
    Application application(argument_count, arguments);
    {
        Receiver receiver, other;
        QObject sender;
        qt_deliver_some(&receiver);
        int at_once = 0;
        QObject::connect(&sender, &QObject::objectNameChanged, &receiver, [&at_once] {
            at_once++;
            (new QObject)->deleteLater(); // posted inside of Qt, inside of a signal
            QTimer::singleShot(0, qApp, [] {});
        });
        QObject::connect(&sender, &QObject::objectNameChanged, &other, [] { called++; }, Qt::QueuedConnection);
        for (int i = 0; i < 5; i++) {
            qt_emit_here(&sender);
        }
        run_until(called, 5);
        child_expect(at_once == 5, "a direct connection is called at once");
        for (int i = 0; i < 5; i++) {
            qt_emit_here(&sender);
        }
        qt_post_here(&receiver);
        QCoreApplication::removePostedEvents(&receiver);
        child_expect(destroyed == 1 && delivered == 0, "what is removed is destroyed");
        int timer = receiver.startTimer(60000);
        receiver.killTimer(timer);
        qt_post_here(&receiver);
        qt_invoke_here(&receiver);
    }
    child_expect(destroyed == 2, "so is what a receiver that is gone would have got");
    for (int i = 0; i < 20; i++) {
        QCoreApplication::processEvents();
    }
    child_expect(delivered == 0 && called == 5, "and nothing of it runs");
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

// More events than are followed, all delivered; and as many that are removed.
extern "C" void child_floods(void)
{
    Application application(argument_count, arguments);
    QObject receiver;
    qt_deliver_some(&receiver);
    for (int i = 0; i < QT_FLOOD; i++) {
        QCoreApplication::postEvent(&receiver, new QEvent(QEvent::User));
    }
    QCoreApplication::sendPostedEvents();
    for (int i = 0; i < QT_FLOOD; i++) {
        QCoreApplication::postEvent(&receiver, new QEvent(QEvent::User));
    }
    QCoreApplication::removePostedEvents(&receiver);
}

// Timers of an object that is deleted, and one of an object that stays.
extern "C" void child_deletes_what_has_timers(void)
{
    new Application(argument_count, arguments);
    QObject object;
    object.startTimer(60000);
    (new QObject)->startTimer(60000);
    object.startTimer(60000);
    object.startTimer(60000);
}

// An exception leaves an event's handler, and the application's notify() catches it.
extern "C" void child_throws(void)
{
    Application application(argument_count, arguments);
    Receiver receiver;
    receiver.throws = true;
    qt_post_here(&receiver);
    QCoreApplication::processEvents();
    child_expect(application.caught == 1 && destroyed == 1, "what is thrown is caught where it always was");
    receiver.throws = false;
    qt_post_here(&receiver);
    QCoreApplication::processEvents();
    child_expect(delivered == 2 && destroyed == 2, "and the next event is delivered");
}

// A handler that runs a loop of its own.
extern "C" void child_nests(void)
{
    Application application(argument_count, arguments);
    Receiver receiver;
    QMetaObject::invokeMethod(&receiver, [&receiver] {
        qt_post_here(&receiver);
        QEventLoop loop;
        QTimer::singleShot(10, &loop, &QEventLoop::quit);
        loop.exec();
        child_expect(delivered == 1, "a nested loop delivers");
        called++;
    }, Qt::QueuedConnection);
    run_until(called, 1);
}

extern "C" const void *qt_vtable_word(void)
{
    static QEvent event(own_type);
    return **reinterpret_cast<void ***>(&event);
}
