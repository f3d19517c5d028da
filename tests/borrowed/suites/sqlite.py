# SPDX-License-Identifier: Apache-2.0
"""SQLite's tests, by the testfixture program of its sources: every file of tests but those that take many minutes."""
import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("gcc", "make", "tcl-dev", "dpkg-dev")
# What permutations.test leaves out of its quick list, and what runs all the others once more.
SLOW = {"all", "quick", "veryquick", "full", "extraquick", "permutations", "soak", "fts3", "fts5", "rtree", "session", "memleak", "mallocAll",
        "async3", "bigfile", "bigfile2", "bigrow", "btree2", "corrupt8", "crash", "crash2", "crash3", "crash4", "crash5", "crash6", "crash7",
        "delete3", "e_fts3", "fts3rnd", "fkey_malloc", "fuzz", "fuzz3", "fuzz_malloc", "in2", "loadext", "misc7", "mutex2", "notify2",
        "onefile", "pagerfault2", "rollback", "savepoint4", "savepoint6", "select9", "speed1", "speed1p", "speed2", "speed3", "speed4",
        "speed4p", "sqllimits1", "tkt2686", "thread001", "thread002", "thread003", "thread004", "thread005", "trans2", "vacuum3", "incrvacuum_ioerr",
        "autovacuum_crash", "shared_err", "vtab_err", "walslow", "walcrash", "walcrash3", "walthread", "rtree3", "indexfault", "securedel2",
        "fts4growth", "fts4growth2", "malloc", "mallocH", "mallocC", "ioerr", "threadtest4", "sort4", "sort5", "tt3_stress", "speed3", "writecrash",
        "fuzzcheck", "valgrind", "inmemory1", "testrunner", "wherelimit3"}
# Of the slow ones these stay: threads, and processes that are killed.
WANTED = {"thread001", "thread002", "thread003", "thread004", "thread005", "crash", "crash5", "walcrash", "notify2", "misc7", "mutex2", "trans2"}


def program(place):
    return place.source("sqlite3") / "testfixture"


def build(place):
    place.build("sqlite3", "./configure --with-tcl=/usr/lib/tcl8.6 && make -j$J testfixture")


def jobs(place):
    made = []
    for path in sorted((program(place).parent / "test").glob("*.test")):
        if path.stem not in SLOW - WANTED:
            read = verdicts.of_lines(r"^(?P<case>[^\s!][^\n]*?)\.\.\. *(?:\n! .*\n)?(?P<verdict>Ok|Omitted|\n?! )", {"Ok": "pass", "Omitted": "skip"})
            made.append(Job(path.stem, [program(place), path], read, time_out=300))
    return made
