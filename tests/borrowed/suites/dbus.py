# SPDX-License-Identifier: Apache-2.0
"""D-Bus's installed tests, as shipped and with everything built for debugging."""
import installed_tests

OF = "dbus-tests"
PACKAGES = ("dbus-tests", "dbus")
CI = ("test-fdpass", "test-loopback", "test-monitor", "test-relay", "test-dbus-daemon", "test-dbus-daemon-fork.sh", "test-corrupt", "test-refs")


def jobs(place):
    return installed_tests.jobs("/usr/share/installed-tests/dbus", "/usr/share/installed-tests/dbus-debug-build", time_out=300)
