# SPDX-License-Identifier: Apache-2.0
"""redis's tests, by the Tcl client of its sources, with servers built as the tests want them (DEBUG commands, test modules)."""
import re

import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("gcc", "make", "tcl", "dpkg-dev", "procps")


def build(place):
    place.build("redis", "make -j$J MALLOC=libc BUILD_TLS=no USE_SYSTEMD=no")


def wash(read):
    """Some names say how long it took."""
    def cases(result):
        result.output = re.sub(r"\x1b\[[0-9;]*m|\(\d+ ms\)", "", result.output)
        return read(result)
    return cases


def jobs(place):
    source = place.source("redis")
    text = (source / "tests/test_helper.tcl").read_text()
    names = re.search(r"set ::all_tests \{(.*?)\}", text, re.DOTALL)[1].split()
    read = wash(verdicts.of_lines(r"^\[(?P<verdict>ok|err|skip|ignore|exception|timeout)\]:? *(?P<case>[^\n]*)", {"ok": "pass", "skip": "skip", "ignore": "skip"}))
    # A copy for each job: its servers write below tests/tmp.
    return [Job(name, ["sh", "-c", 'cp -r "$1/tests" . && mkdir -p tests/tmp && ln -s "$1/src" src && ln -s "$1/deps" deps && cp "$1"/*.conf . && '
                       'exec tclsh tests/test_helper.tcl --single "$2" --clients 1 --no-latency', "sh", source, name], read, time_out=900)
            for name in names]
