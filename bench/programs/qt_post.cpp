// SPDX-License-Identifier: Apache-2.0
// qt_post.cpp - the C++ of bench_tasks.c.
#include "qt_post.h"

#include <QCoreApplication>
#include <QEvent>
#include <QObject>
#include <QThreadPool>

#include <atomic>

namespace {

class receiver : public QObject
{
public:
    unsigned events = 0;
    bool event(QEvent *event) override
    {
        events += event->type() == QEvent::User;
        return true;
    }
};

receiver *target;
QThreadPool *pool;
std::atomic<unsigned> done;

} // namespace

void qt_post_begin(void)
{
    static int count = 1;
    static char name[] = "bench_tasks";
    static char *arguments[] = {name, nullptr};
    new QCoreApplication(count, arguments); // kept until the process ends
    target = new receiver;
    pool = new QThreadPool;
    pool->setMaxThreadCount(1);
    pool->setExpiryTimeout(-1);
}

void qt_post_and_deliver(void)
{
    QCoreApplication::postEvent(target, new QEvent(QEvent::User));
    QCoreApplication::sendPostedEvents(target, QEvent::User);
}

void qt_start_and_run(void)
{
    const unsigned before = done;
    pool->start([] { done++; });
    while (done == before) {
    }
}
