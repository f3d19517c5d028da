# SPDX-License-Identifier: Apache-2.0
"""glibc's own tests of threads, cancellation, signals, timers, processes and input and output, against the installed library."""
import pathlib

import verdicts
from job import Job

OF = "libc6"
PACKAGES = ("gcc", "libc6-dev", "dpkg-dev")
# Not of the library but of the machine, or of minutes.
LEFT_OUT = {"posix+tst-regex", "posix+tst-regex2", "posix+tst-rxspencer", "stdlib+tst-strtod-underflow", "rt+tst-mqueue3", "malloc+tst-malloc-thread-fail",
            "malloc+tst-mallocfork2", "stdlib+tst-strtod6"}
CI = ("*+tst-cancel*", "*+tst-cleanup*", "signal+*", "*+tst-vfork*", "*+tst-sem*", "*+tst-timer*", "*+tst-clock_nanosleep", "*+tst-robust1", "*+tst-join*",
      "*+tst-kill*", "*+tst-exec*", "*+tst-popen1", "*+tst-fork*", "*+tst-signal*", "*+tst-cond-except", "*+tst-once*", "*+tst-atfork1", "*+tst-spawn*",
      "*+tst-barrier*", "*+tst-aio*", "*+tst-cpuclock2", "*+tst-mqueue*")


def folder(place):
    return place.folder / "out"


def build(place):
    script = pathlib.Path(__file__).parents[1] / "glibc_tests.sh"
    place.sh(f"'{script}' '{place.source('glibc')}' '{folder(place)}' $J", place.folder)
    place.own(folder(place))


def jobs(place):
    made = []
    for path in sorted((folder(place) / "bin").iterdir()):
        if path.name not in LEFT_OUT:
            made.append(Job(path.name, [path], verdicts.of_status(path.name), time_out=90))
    return made
