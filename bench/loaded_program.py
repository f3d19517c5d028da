# SPDX-License-Identifier: Apache-2.0
"""loaded_program - a program at full load on processors of its own: who loads it, and what its processes have used."""
import os
import random
import re
import statistics
import subprocess
import time

CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPUS = {CPUS[-1]} # of the program and all that it starts
LOAD_CPUS = set(CPUS[:-1]) or SERVER_CPUS


class NotMeasured(Exception):
    """Why a workload has no figures; the others go on."""


def family_of(pid):
    """A process and its descendants, oldest first."""
    members = [pid]
    for member in members:
        try:
            with open("/proc/%d/task/%d/children" % (member, member)) as children:
                members += [int(word) for word in children.read().split()]
        except OSError:
            pass
    return members


def family_seconds(pid):
    """CPU time of a family, its members that have ended and were waited for included."""
    total = 0
    for member in family_of(pid):
        total += cpu_seconds(member)
    try:
        with open("/proc/%d/stat" % pid) as stat:
            fields = stat.read().rpartition(")")[2].split()
        total += (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        pass
    return total


def cpu_seconds(pid):
    """CPU time of a process, to the nanosecond, of its threads that have ended, too."""
    try:
        return time.clock_gettime_ns(~pid << 3 | 2) / 1e9 # its CPUCLOCK_SCHED (clock_getcpuclockid(3))
    except OSError:
        return 0


def load(command):
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, LOAD_CPUS))
    if done.returncode != 0:
        raise NotMeasured("%s ended with status %d:\n%s%s" % (" ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout


UNITS_MS = {"us": 1e-3, "ms": 1, "s": 1e3, "m": 60e3, "h": 3600e3}


def read_wrk(out):
    """Requests a second, p99 in ms, and requests of what wrk printed. The line of the percentile begins with it: "99%"
    alone is also how a share within one deviation may end (97.99%), lines above."""
    rate = re.search(r"^Requests/sec:\s+([0-9.]+)$", out, re.MULTILINE)
    p99 = re.search(r"^\s+99%\s+([0-9.]+)(us|ms|s|m|h)\s*$", out, re.MULTILINE)
    count = re.search(r"^\s+(\d+) requests in", out, re.MULTILINE)
    if not rate or not p99 or not count or int(count.group(1)) == 0:
        raise NotMeasured("wrk told no rate, no 99th percentile or no request. It printed:\n" + out)
    return float(rate.group(1)), float(p99.group(1)) * UNITS_MS[p99.group(2)], int(count.group(1))


def wrk(port, path, connections, seconds):
    out = load(["wrk", "-t1", "-c%d" % connections, "-d%ds" % max(1, round(seconds)), "--latency",
                "http://127.0.0.1:%d%s" % (port, path)])
    if "Non-2xx" in out or "Socket errors" in out:
        raise NotMeasured("wrk met errors. It printed:\n" + out)
    return read_wrk(out)


def median_interval(values):
    """95 % of the medians of resamplings lie in it."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(values, k=len(values))) for _ in range(2000))
    return medians[49], medians[1949]


def median_interval_of_groups(groups):
    """The same where the values of a group are alike: groups are resampled, and then the values of each (a two-stage bootstrap: Davison and Hinkley, Bootstrap Methods
    and their Application, 1997, section 3.8)."""
    generator, medians = random.Random(1), []
    for _ in range(2000):
        chosen = generator.choices(groups, k=len(groups))
        medians.append(statistics.median(value for group in chosen for value in generator.choices(group, k=len(group))))
    medians.sort()
    return medians[49], medians[1949]
