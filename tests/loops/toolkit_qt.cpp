/* SPDX-License-Identifier: Apache-2.0 */
/* toolkit_qt.cpp - QApplication::exec(), QDialog::exec() and processEvents(), of Qt 5 and Qt 6. */
#include <QApplication>
#include <QEventLoop>
#include <QMessageBox>
#include <QPushButton>
#include <QSocketNotifier>
#include <QTimer>

#include "toolkit.h"

static QApplication *application;
static QMessageBox *dialog;

void toolkit_start(int *argc, char ***argv)
{
    application = new QApplication(*argc, *argv);
    auto *button = new QPushButton("a button");
    button->show();
}

void toolkit_tick_soon(void (*tick)(void))
{
    QTimer::singleShot(20, application, [tick] { tick(); });
}

void toolkit_run(void)
{
    QApplication::exec();
}

void toolkit_quit(void)
{
    QApplication::quit();
}

void toolkit_dialog(void)
{
    QMessageBox box(QMessageBox::Information, "title", "text", QMessageBox::Close);
    dialog = &box;
    box.exec();
}

void toolkit_close_dialog(void)
{
    dialog->done(0);
}

bool toolkit_peek(void)
{
    QApplication::processEvents();
    return true;
}

bool toolkit_await_reply(int fd)
{
    (void)fd;
    return false;
}
