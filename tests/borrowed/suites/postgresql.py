# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL's regression and isolation tests, each against a server that pg_regress starts: all of it is recorded."""
import verdicts
from job import Job

OF = "postgresql-15"
PACKAGES = ("postgresql-15", "postgresql-server-dev-15", "gcc", "make", "dpkg-dev")
PROGRAMS = "/usr/lib/postgresql/15/lib/pgxs/src/test"
BINARIES = "/usr/lib/postgresql/15/bin"


def build(place):
    place.build("postgresql-15", "mkdir -p modules; for file in src/test/regress/regress.c contrib/spi/refint.c contrib/spi/autoinc.c; do "
                                 "gcc -O2 -w -fPIC -shared -I/usr/include/postgresql/15/server -o modules/$(basename $file .c).so $file; done")


def jobs(place):
    source = place.source("postgresql-15")
    made = []
    for folder, program, schedule in (("regress", "pg_regress", "parallel_schedule"), ("isolation", "pg_isolation_regress", "isolation_schedule")):
        tests = source / "src/test" / folder
        read = verdicts.of_lines(r"^(?:test|    )\s*(?P<case>[\w-]+)\s+\.\.\. (?P<verdict>ok|FAILED|failed)", {"ok": "pass"})
        # Outside of a build, the isolation tests' own client lies beside what starts it.
        made.append(Job(folder, [f"{PROGRAMS}/{folder}/{program}", "--temp-instance={folder}/tmp/pg", f"--bindir={BINARIES}", f"--inputdir={tests}",
                                 "--outputdir={folder}/cwd", f"--dlpath={source}/modules", f"--schedule={tests}/{schedule}", "--max-connections=8"], read, time_out=1800, env={"LC_ALL": "C"}))
    return made
