# SPDX-License-Identifier: Apache-2.0
"""libuv's own tests: each is a process of its own, most of them with a loop, threads or children."""
import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("cmake", "ninja-build", "gcc", "dpkg-dev")


def program(place):
    return place.source("libuv1") / "built/uv_run_tests"


def build(place):
    place.build("libuv1", "cmake -S . -B built -G Ninja -DLIBUV_BUILD_TESTS=ON && ninja -C built -j$J uv_run_tests")


def jobs(place):
    tests = program(place)
    names = place.read([tests, "--list"]).split()
    return [Job(name, [tests, name], verdicts.of_tap(name), cwd=str(tests.parent.parent), time_out=90) for name in names]
