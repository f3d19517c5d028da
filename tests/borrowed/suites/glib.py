# SPDX-License-Identifier: Apache-2.0
"""GLib's installed tests: main loops, threads, sockets, children, D-Bus."""
import installed_tests

OF = "libglib2.0-tests"
PACKAGES = ("libglib2.0-tests", "dbus", "desktop-file-utils")
CI = ("asyncqueue", "mainloop", "cond", "rec-mutex", "rwlock", "spawn-singlethread", "spawn-multithreaded", "thread", "threadtests",
      "thread-pool", "unix", "socket", "gsubprocess", "task", "sleepy-stream", "poll*", "pipe-io-overflow", "gdbus-threading",
      "bitlock", "once", "onceinit", "private", "cancellable", "io-channel")


def jobs(place):
    return installed_tests.jobs("/usr/share/installed-tests/glib", time_out=300)
