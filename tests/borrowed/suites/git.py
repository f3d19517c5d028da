# SPDX-License-Identifier: Apache-2.0
"""git's tests against the installed git: shell scripts that start some two thousand processes each."""
import os

import verdicts
from job import Job

OF = "git"
PACKAGES = ("git", "gcc", "make", "dpkg-dev", "libcurl4-openssl-dev", "libexpat1-dev", "zlib1g-dev", "perl")
LEFT_OUT = ("t7900-maintenance",)  # waits for a lock of a minute
CI = ("t0001-init", "t0061-run-command", "t0005-signals", "t5000-tar-tree", "t7501-commit-basic-functionality")


def build(place):
    place.build("git", "make -j$J NO_GETTEXT=1 NO_TCLTK=1 GIT-BUILD-OPTIONS t/helper/test-tool && make -C templates")


def jobs(place):
    folder = place.source("git") / "t"
    env = {"GIT_TEST_INSTALLED": "/usr/bin", "GIT_TEST_EXEC_PATH": "/usr/lib/git-core", "TEST_OUTPUT_DIRECTORY": "{folder}/cwd"}
    return [Job(path.stem, ["sh", path.name, f"--root={{folder}}/tmp"], verdicts.of_tap(path.stem), cwd=str(folder), env=env, time_out=900)
            for path in sorted(folder.glob("t[0-9]*.sh")) if path.stem not in LEFT_OUT and os.access(path, os.X_OK)]
