# SPDX-License-Identifier: Apache-2.0
"""Perl's core tests, with a perl built with threads as Debian's is: the tests want the tree they were built in."""
import pathlib

import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("gcc", "make", "dpkg-dev")
FOLDERS = ("t/base", "t/cmd", "t/comp", "t/io", "t/lib", "t/mro", "t/op", "t/opbasic", "t/re", "t/run", "t/uni", "lib", "dist/threads/t",
           "dist/threads-shared/t", "dist/Thread-Queue/t", "dist/Thread-Semaphore/t", "dist/IO/t", "dist/Time-HiRes/t", "dist/Storable/t",
           "dist/Safe/t", "ext/POSIX/t", "ext/IPC-Open3/t", "ext/Pod-Html/t", "ext/File-Glob/t", "ext/XS-APItest/t", "cpan/Socket/t",
           "cpan/IPC-SysV/t", "cpan/IO-Socket-IP/t", "cpan/List-Util/t", "cpan/Digest-SHA/t", "cpan/Encode/t")
# lib/charnames.t chooses at random what it tests, and how much, unless it is told where to begin.
ENVIRONMENT = {"PERL_CORE": "1", "PERL_TEST_CHARNAMES_SEED": "1"}
LEFT_OUT = "uniprops"  # a million lines of the character tables, and nothing that a recorder could touch


def build(place):
    place.build("perl", "./Configure -des -Dusethreads && make -j$J && make -j$J test_prep")


def jobs(place):
    source = place.source("perl")
    made = []
    for folder in FOLDERS:
        for path in sorted((source / folder).glob("*.t")):
            name = str(path.relative_to(source))
            if LEFT_OUT not in name:
                made.append(Job(name, ["./perl", "TEST", "-v", f"../{name}" if not name.startswith("t/") else name[2:]],
                                verdicts.of_tap(name), cwd=str(source / "t"), time_out=300, env=ENVIRONMENT))
    return made
