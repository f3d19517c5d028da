# SPDX-License-Identifier: Apache-2.0
"""stress-ng --verify: some 300 ways to use a kernel, each for a second, and its own checks of the results."""
import dataclasses
import re
import subprocess

import verdicts
from job import Job

OF = "stress-ng"
PACKAGES = ("stress-ng",)
# Some take all memory there is: this much has to do. Those that want more say so in both runs.
ADDRESS_SPACE = 8 << 30
# Of no use or not bearable on a machine that others work on, none of them because of the recorder.
LEFT_OUT = {"bigheap": "takes memory until there is no more", "oom-pipe": "the same", "resources": "the same",
            "swap": "fills the swap", "smi": "hardware", "cpu-online": "takes processors away", "sysinval": "calls at random",
            "reboot": "asks to", "hdd": "fills the disk", "hang": "-"}
EXIT = {0: "pass", 2: "fail", 3: "skip", 4: "skip"}
CI = ("pthread", "mutex", "sem", "sem-sysv", "futex", "poll", "epoll", "eventfd", "pipe", "fork", "vfork", "clone", "exec", "spawn", "timer",
      "timerfd", "sigabrt", "sigio", "sigpending", "sigq", "sigrt", "sigsegv", "sigsuspend", "sigtrap", "signal", "nanosleep", "itimer",
      "bad-altstack", "longjmp", "ptrace", "rseq", "membarrier", "dynlib", "mmap", "seccomp", "kill", "aio")


CI_ROUNDS = 10000


def for_every_day(job):
    """So many rounds of what it does, where they take less than the second."""
    return dataclasses.replace(job, argv=[*job.argv, f"--{job.name}-ops", str(CI_ROUNDS)])


def verdict(job_name):
    def read(result):
        if result.status is None or result.status < 0:
            return {job_name: result.ended()}
        if re.search(r"stressor will be skipped|skipped: 1|unimplemented", result.output) and result.status in (0, 3, 4):
            return {job_name: "skip"}
        return {job_name: EXIT.get(result.status, f"exit {result.status}")}
    return read


def jobs(place):
    names = subprocess.run(["stress-ng", "--stressors"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return [Job(name, ["stress-ng", f"--{name}", "1", "--verify", "--timeout", "1", "--no-rand-seed", "--temp-path", "{folder}/tmp"],
                verdict(name), time_out=60) for name in names if name not in LEFT_OUT]
