# SPDX-License-Identifier: Apache-2.0
"""CPython's regression tests, as Debian ships them: a job a module, its cases as unittest counts them."""
import pathlib
import xml.etree.ElementTree as xml

import verdicts
from job import Job

OF = "libpython3.11-testsuite"
PACKAGES = ("python3.11", "libpython3.11-testsuite")
FOLDER = pathlib.Path("/usr/lib/python3.11/test")
# Packages of tests whose parts are long enough to be jobs.
SPLIT = ("test_asyncio", "test_concurrent_futures", "test_multiprocessing_fork", "test_multiprocessing_spawn")
# Three minutes on a quiet machine: a busy one let its time-out come, now alone and now recorded.
LONG = ("test_multiprocessing_forkserver",)
CI = ("test_signal", "test_threading", "test_select", "test_epoll", "test_thread", "test_wait3", "test_wait4",
      "test_fork1", "test_posix", "test_pty", "test_mmap", "test_popen", "test_ioctl", "test_fcntl", "test_contextlib",
      "test_os", "test_ctypes", "test_asyncio.test_unix_events", "test_socketserver")


def verdict(job_name):
    def read(result):
        cases = {}
        try:
            tree = xml.parse(result.folder / "cwd/results.xml")
        except (OSError, xml.ParseError):
            return {job_name: "skip" if result.status == 0 else result.ended()}
        for case in tree.iter("testcase"):
            kinds = {child.tag for child in case}
            name = case.get("name", "?")
            verdicts.put(cases, f"{job_name}: {name}", "fail" if kinds & {"failure", "error"} else "skip" if "skipped" in kinds or
                         case.get("result") == "skipped" else "pass")
        return cases
    return read


def jobs(place):
    names = []
    for path in sorted(FOLDER.glob("test_*")):
        if path.is_dir() and path.name in SPLIT and (path / "__init__.py").exists():
            names += [f"{path.name}.{part.stem}" for part in sorted(path.glob("test_*.py"))]
        elif path.suffix == ".py" or (path / "__init__.py").exists():
            names.append(path.stem)
    return [Job(name, ["/usr/bin/python3.11", "-m", "test", "--junit-xml", "results.xml", "--timeout", str(seconds), f"test.{name}" if "." in name
                       else name], verdict(name), time_out=seconds + 100)
            for name in names for seconds in (1500 if name in LONG else 400,)]
