# SPDX-License-Identifier: Apache-2.0
"""recorder_share - what share of a process's CPU time is the recorder's, by a profiler's samples.

perf asks the process by a software clock of CPU time, PROFILE_HZ times a second, where it is. A sample is the recorder's when it lies
    library   in its library, on a thread of the program's;
    kernel    in the kernel, on such a thread, and the user's instruction is one of the library's: a system call that the library itself
              makes, or a fault of its code. The call that a hook was called for is made by the C library, and is the program's;
    threads   on one of its own threads, wherever.
No difference of two noisy numbers is taken, so half a per cent can be told: of n samples the share has Wilson's interval.

Not seen: functions of the C library that the recorder calls (no chain of frames is followed); what the program pays afterwards for cache
lines that the recorder pushed out; what the kernel does to deliver a signal, some 3 us each. And a sample lies up to some instructions behind the one that was waited for: a
hook that looks first at a word that the call needs as well is charged for fetching it, which the call would have to do without the hook.

usage: recorder_share.py [--seconds N] [TENTHS_OF_PERMILLE...]
checks itself: of a program of which so much is known to lie in a library (programs/known_share.c; 0, 50 and 500) it tells what it finds."""
import argparse
import collections
import contextlib
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PROFILE_HZ = 1999
KINDS = ("library", "kernel", "threads")
USER_IP = re.compile(r"\bIP:0x([0-9a-f]+)")


def names_of_threads(pid):
    names = []
    for task in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError), open("/proc/%d/task/%s/comm" % (pid, task)) as comm:
            names.append(comm.read().strip())
    return names


def wait_for_recorder(pid):
    """Until the process has the recorder's threads, and a second more: perf misses the names, or the threads, that come while it begins."""
    for _ in range(1000):
        with contextlib.suppress(OSError):
            if "sbx-watch" in names_of_threads(pid):
                time.sleep(1)
                return
        time.sleep(0.01)


def profiled(pid, path):
    return subprocess.Popen(["perf", "record", "--quiet", "--clockid", "CLOCK_MONOTONIC", "--event", "cpu-clock", "--freq", str(PROFILE_HZ),
                             "--user-regs=ip", "--output", path, "--pid", str(pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ranges_of(pid, library):
    """[(begin, end)] of the code of the library in the process"""
    ranges = []
    with open("/proc/%d/maps" % pid) as maps:
        for line in maps:
            words = line.split()
            if len(words) > 5 and "x" in words[1] and library in words[5]:
                ranges.append(tuple(int(word, 16) for word in words[0].split("-")))
    return ranges


def kind_of(line, words, at, library, ranges):
    """One of KINDS, or None: it is not the recorder's"""
    if words[0].startswith("sbx-"):
        return "threads"
    if library in line[line.rfind("("):]:
        return "library"
    is_kernel = words[at + 1].startswith("ffff")
    user = USER_IP.search(line)
    if is_kernel and user and any(begin <= int(user.group(1), 16) < end for begin, end in ranges):
        return "kernel"
    return None


def samples_of(profiler, path, ranges, library="libstallbox"):
    """[(ns, one of KINDS or None, function)] in order, and what perf said if there are none"""
    profiler.send_signal(signal.SIGINT)
    profiler.wait()
    done = subprocess.run(["perf", "script", "--input", path, "--ns", "--fields", "comm,time,ip,sym,dso,uregs"], capture_output=True, text=True)
    samples = []
    for line in done.stdout.splitlines():
        # comm, which may have blanks; time; address; function; (file); registers
        words = line.split()
        at = next((number for number, word in enumerate(words) if word.endswith(":") and word[:-1].replace(".", "").isdigit()), None)
        if at is None or len(words) < at + 2:
            continue
        seconds, place = words[at][:-1].split("."), " ".join(words[at + 2:]).split(" (")[0]
        samples.append((int(seconds[0]) * 10**9 + int(seconds[1]), kind_of(line, words, at, library, ranges), place))
    return sorted(samples, key=lambda sample: sample[0]), done.stderr.strip()


def wilson(count, samples):
    """(lower, upper) end of the 95 % interval of a share"""
    if samples == 0:
        return 0.0, 1.0
    z, share = 1.96, count / samples
    middle = share + z * z / (2 * samples)
    half = z * math.sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples))
    return (middle - half) / (1 + z * z / samples), (middle + half) / (1 + z * z / samples)


class Share:
    """Of the samples of some windows."""

    def __init__(self, samples):
        self.samples = len(samples)
        self.by_kind = collections.Counter(kind for _, kind, _ in samples if kind)
        self.functions = collections.Counter((kind, function) for _, kind, function in samples if kind)
        self.count = sum(self.by_kind.values())
        self.share = self.count / self.samples if self.samples else 0.0
        self.low, self.high = wilson(self.count, self.samples)

    def of(self, kind):
        return self.by_kind[kind] / self.samples if self.samples else 0.0


def mean_of(shares):
    """(mean of several programs' shares, lower and upper end): each counts as much, however many samples it has"""
    mean = sum(share.share for share in shares) / len(shares)
    half = 1.96 * math.sqrt(sum(max(share.share, 1 / share.samples) * (1 - share.share) / share.samples for share in shares)) / len(shares)
    return mean, max(mean - half, 0.0), mean + half


def check(wanted, seconds):
    """Tell the share of a program of which it is known. Returns whether it lies in the interval."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "known_share")
    running = subprocess.Popen([program, str(wanted)])
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "perf.data")
            profiler = profiled(running.pid, path)
            time.sleep(seconds)
            samples, said = samples_of(profiler, path, ranges_of(running.pid, "known_share_library"), "known_share_library")
    finally:
        running.kill()
        running.wait()
    if not samples:
        print("recorder_share: perf took no samples: " + said, file=sys.stderr)
        return False
    share = Share(samples)
    print("%.2f %% by construction, %.3f %% (95 %%: %.3f..%.3f) of %d samples" % (wanted / 100, share.share * 100, share.low * 100,
                                                                            share.high * 100, share.samples))
    return share.low <= wanted / 10000 <= share.high


def main():
    parser = argparse.ArgumentParser(prog="recorder_share")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("shares", nargs="*", type=int, default=[0, 50, 500], metavar="TENTHS_OF_PERMILLE")
    arguments = parser.parse_args()
    return 0 if all([check(wanted, arguments.seconds) for wanted in arguments.shares]) else 1


if __name__ == "__main__":
    sys.exit(main())
