# SPDX-License-Identifier: Apache-2.0
"""jemalloc's own tests of its parts and of the whole allocator, with threads and forks."""
import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("gcc", "make", "autoconf", "dpkg-dev")


def build(place):
    place.build("jemalloc", "[ -x configure ] || autoconf; ./configure && make -j$J tests_unit tests_integration")


def jobs(place):
    source = place.source("jemalloc")
    made = []
    for path in sorted([*(source / "test/unit").iterdir(), *(source / "test/integration").iterdir()]):
        if path.suffix or not path.is_file():
            continue
        name = f"{path.parent.name}/{path.name}"
        settings = path.with_suffix(".sh")
        # A test's .sh sets MALLOC_CONF for it.
        script = f'. "{settings}"; ' if settings.exists() else ""
        env = {"enable_fill": "1", "enable_prof": "0"}
        read = verdicts.of_lines(r"^(?P<case>test_\w+ \([\w-]+\)): (?P<verdict>pass|skip|fail)", {"pass": "pass", "skip": "skip"})
        made.append(Job(name, ["sh", "-c", f'{script}export MALLOC_CONF; LD_LIBRARY_PATH="{source}/lib" exec "{path}"'], read, time_out=180, env=env))
    return made
