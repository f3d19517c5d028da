# SPDX-License-Identifier: Apache-2.0
"""bash's tests against the installed bash: each prints its differences from what is right, which are compared as well."""
import re

import verdicts
from job import Job

OF = "bash"
PACKAGES = ("bash", "gcc", "dpkg-dev")
LEFT_OUT = {"run-all", "run-minimal", "run-gprof"}
CI = ("run-trap", "run-jobs", "run-procsub", "run-read", "run-exec*", "run-coproc", "run-builtins", "run-comsub*", "run-redir", "run-herestr", "run-func",
      "run-heredoc", "run-lastpipe", "run-vredir")


def build(place):
    place.build("bash", "touch config.h; for name in recho zecho printenv xcase; do gcc -w -I. -DHAVE_STDLIB_H -DHAVE_STRING_H -DHAVE_UNISTD_H -o tests/$name support/$name.c; done")


def wash(text):
    """Numbers of processes, and what the scripts warn of in advance."""
    text = re.sub(r"(?m)^warning:.*\n", "", text)
    return re.sub(r"\b\d{3,7}\b", "N", re.sub(r"/tmp/\S+", "/tmp/F", text))


def jobs(place):
    folder = place.source("bash") / "tests"
    return [Job(path.name, ["sh", path.name], verdicts.of_status_and_output(path.name, wash), cwd=str(folder), time_out=400,
                env={"THIS_SH": "/bin/bash", "BASH_TSTOUT": "{folder}/tmp/out", "BUILD_DIR": str(folder.parent), "PATH": f"{folder}:/usr/bin:/bin"})
            for path in sorted(folder.glob("run-*")) if path.name not in LEFT_OUT]
