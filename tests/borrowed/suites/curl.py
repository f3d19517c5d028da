# SPDX-License-Identifier: Apache-2.0
"""curl's tests: its command and libcurl against servers of its own, twenty cases to a job because those have to be started."""
import re

import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("gcc", "make", "autoconf", "automake", "libtool", "libssl-dev", "zlib1g-dev", "perl", "python3", "dpkg-dev")
AT_A_TIME = 20


def build(place):
    place.build("curl", "autoreconf -fi && ./configure --with-openssl && make -j$J && make -j$J -C tests")


def jobs(place):
    source = place.source("curl")
    numbers = sorted(int(path.name[4:]) for path in (source / "tests/data").glob("test*") if re.fullmatch(r"test\d+", path.name))
    made = []
    for at in range(0, len(numbers), AT_A_TIME):
        some = [str(number) for number in numbers[at:at + AT_A_TIME]]
        # In a tree of links: the tests write beside themselves.
        script = 'cp -rs "$1" tree && cd tree/tests && shift && exec perl -I. runtests.pl -a -n -am "$@"'
        read = verdicts.of_lines(r"^(?P<verdict>PASS|FAIL|SKIP|IGNORED): (?P<case>\d+)", {"PASS": "pass", "SKIP": "skip", "IGNORED": "skip"})
        made.append(Job(f"{some[0]}-{some[-1]}", ["sh", "-c", script, "sh", source, *some], read, time_out=600))
    return made
