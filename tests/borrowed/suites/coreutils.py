# SPDX-License-Identifier: Apache-2.0
"""coreutils' tests against programs built from its sources: the tests look into the tree that made what they test."""
import re

import verdicts
from job import Job

OF = None  # what is tested is what was built or unpacked
PACKAGES = ("gcc", "make", "perl", "dpkg-dev")


def build(place):
    place.build("coreutils", "FORCE_UNSAFE_CONFIGURE=1 ./configure && make -j$J")


def jobs(place):
    source = place.source("coreutils")
    listed = re.search(r"^all_tests =(.*?)^\S", (source / "tests/local.mk").read_text(), re.MULTILINE | re.DOTALL)[1]
    version = re.search(r"PACKAGE_VERSION = (\S+)", (source / "Makefile").read_text())[1]
    programs = re.search(r"^built_programs = *(.*)$", (source / "built.mk").read_text(), re.MULTILINE)[1] if (source / "built.mk").exists() else \
        " ".join(sorted(path.name for path in (source / "src").iterdir() if path.is_file() and not path.suffix and path.stat().st_mode & 1))
    env = {"VERSION": version, "PACKAGE_VERSION": version, "abs_top_builddir": str(source), "abs_top_srcdir": str(source), "abs_srcdir": str(source),
           "built_programs": programs, "fail": "0", "srcdir": ".", "top_srcdir": ".", "host_os": "linux-gnu", "host_triplet": "x86_64-pc-linux-gnu",
           "CONFIG_HEADER": f"{source}/lib/config.h", "CC": "gcc", "AWK": "awk", "EGREP": "grep -E", "MAKE": "make", "PERL": "perl", "SHELL": "/bin/sh",
           "LOCALE_FR": "none", "LOCALE_FR_UTF8": "none", "LC_ALL": "C", "LANG": "C", "PATH": f"{source}/src:/usr/bin:/bin"}
    made = []
    for name in re.findall(r"tests/\S+\.(?:sh|pl|xpl)", listed):
        argv = ["/bin/sh", name]
        if name.endswith("pl"):
            argv = ["perl", "-w", "-I./tests", "-MCuSkip", "-MCoreutils", f"-MCuTmpdir qw({name})", name]
        made.append(Job(name, ["/bin/sh", "-c", 'exec 9>&2; exec "$@"', "sh", *argv], verdicts.of_status(name), cwd=str(source), time_out=180,
                        env={**env, "CU_TEST_NAME": name.replace("/", "-")}))
    return made
